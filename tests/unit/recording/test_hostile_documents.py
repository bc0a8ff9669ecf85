"""The documents of a recording with any value in the place of another are read, or refused: nothing else is raised."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flowsim.errors import BadInput
from flowsim.laws.graph_check import checked_job_graph
from flowsim.recording.reader import Recording
from flowsim.scenario.run_description import recorded_scenario, rerun_of
from flowsim.trace.names import Names
from tests.hostile.recordings import record, sign
from tests.support.json_values import leaves, replaced

VALUES: tuple[object, ...] = (
    None, True, -1, 0, 7, 2**31, 2**63, 10**30, 1.5, "", "x", "../../etc/passwd", "\x00", [], {}, [[1]], {"a": 1},
)  # fmt: skip
PER_LEAF = 2


def read(directory: Path) -> None:
    """What the commands do with the documents of a recording."""
    recording = Recording.open(directory)
    Names(recording)
    checked_job_graph(recording)
    for epoch in range(len(recording.epochs)):
        recording.part("metrics", epoch)


def read_scenario(directory: Path) -> None:
    """What a replay does with them."""
    manifest = Recording.open(directory).manifest
    rerun_of(manifest)
    recorded_scenario(manifest, directory)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("hostile"))


@pytest.mark.parametrize("name", ["manifest.json", "graph.json", "epochs/00000.json"])
def test_any_value_in_a_document_is_read_or_refused(name: str, recording: Path) -> None:
    path, manifest = recording / name, recording / "manifest.json"
    kept, signed = path.read_text(), manifest.read_text()
    found = {}
    for number, leaf in enumerate(leaves(json.loads(kept))):
        for turn in range(PER_LEAF):
            value = VALUES[(PER_LEAF * number + turn) % len(VALUES)]
            path.write_text(
                json.dumps(replaced(json.loads(kept), leaf, value), sort_keys=True, separators=(",", ":")) + "\n"
            )
            try:
                if path != manifest:
                    sign(recording)
                read(recording)
                if path == manifest:
                    read_scenario(recording)
            except BadInput:
                pass
            except Exception as error:
                found[leaf, str(value)] = repr(error)
            path.write_text(kept)
            manifest.write_text(signed)
    sign(recording)
    read(recording)
    assert found == {}
