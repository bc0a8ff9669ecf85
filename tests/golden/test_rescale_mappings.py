"""SubtaskStateMapper and RescaleMappings equal the real ones for all parallelisms from 1 to 8 (rules 12.98, 12.102)."""

from __future__ import annotations

import pytest

from flowsim.errors import BadInput
from flowsim.state.redistribution.subtask_state_mapper import SubtaskStateMapper
from tests.support.flink.golden import cases


def test_every_mapping_equals_flinks() -> None:
    mapped = 0
    for case in cases("component/rescale_mappings"):
        mapper = SubtaskStateMapper(case["mapper"])
        mapped += 1
        if case["err"] is not None:
            with pytest.raises(BadInput) as raised:
                mapper.new_to_old_subtasks_mapping(case["old"], case["new"])
            assert str(raised.value)[:120] == case["err"][1]
            continue
        mappings = mapper.new_to_old_subtasks_mapping(case["old"], case["new"])
        inverted = mappings.invert()
        assert {
            "may_be_ambiguous": mapper.is_ambiguous,
            "new_to_old": [list(mappings.mapped_indexes(new)) for new in range(case["new"])],
            "identity": mappings.is_identity,
            "old_to_new": [list(inverted.mapped_indexes(old)) for old in range(case["old"])],
            "ambiguous_old": mappings.ambiguous_targets,
        } == {key: case[key] for key in ("may_be_ambiguous", "new_to_old", "identity", "old_to_new", "ambiguous_old")}
    assert mapped == 384
