"""A run that gets no more memory: its exit code, its message, and its recording."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from flowsim.cli import main as command_line
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.recording.manifest import RunStatus
from flowsim.recording.reader import Recording


@pytest.fixture
def without_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(self: MiniCluster) -> None:
        raise MemoryError

    monkeypatch.setattr(MiniCluster, "run", run)


@pytest.mark.usefixtures("without_memory")
@pytest.mark.parametrize(
    ("sink", "advice"),
    [
        ("", ""),
        ("  seen: {input: sums, collect: {}}\n", "sink seen (collect) holds all its rows: use csv, jsonl or parquet\n"),
    ],
)
def test_message_names_collect_sinks_only_where_there_are_some(
    flowsim: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    sink: str,
    advice: str,
) -> None:
    text = Path("tiny.yaml").read_text().replace("expect:", f"{sink}expect:")
    Path("tiny.yaml").write_text(text)
    monkeypatch.setattr(sys, "argv", ["flowsim", "run", "tiny.yaml", "--out", "o"])
    monkeypatch.setattr(command_line, "accept_all_characters", lambda: None)
    with pytest.raises(SystemExit) as ended:
        command_line.main()
    assert (ended.value.code, capsys.readouterr().err) == (3, f"error: not enough memory\n{advice}")
    recording = Recording.open(tmp_path / "o")
    assert recording.status is RunStatus.FAILED
    assert recording.manifest.failure is not None
    assert recording.manifest.failure.cause.startswith("MemoryError")
