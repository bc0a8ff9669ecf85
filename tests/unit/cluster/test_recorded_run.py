"""The recording of a failed run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flowsim.datastream import StreamExecutionEnvironment
from flowsim.errors import JobFailed
from flowsim.recording.manifest import read_manifest


class Unprintable:
    """Shown with where it stands in memory."""


def test_recorded_failure_contains_no_object_address(tmp_path: Path) -> None:
    def refuse(value: Any) -> object:
        raise ValueError(value)

    env = StreamExecutionEnvironment.get_execution_environment()
    env.flowsim_recording(tmp_path)
    env.get_config().enable_object_reuse()  # else the first map may not emit it
    with pytest.raises(JobFailed, match="Unprintable object at 0x"):
        env.from_collection([1]).map(lambda _: Unprintable()).map(refuse).execute_and_collect()
    failure = read_manifest(tmp_path).failure
    assert failure is not None
    assert failure.record == f"<{__name__}.Unprintable object>"
    assert failure.cause == f"ValueError: <{__name__}.Unprintable object>"
