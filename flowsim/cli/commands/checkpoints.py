"""``flowsim checkpoints``: what a checkpoint directory contains, and the history of a recording."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from flowsim.checkpoints.storage.directory.contents import StateEntry, StoredState, state_entries, stored_states
from flowsim.checkpoints.storage.directory.manifest import MANIFEST, CheckpointManifest, is_checkpoint
from flowsim.checkpoints.storage.directory.stored_snapshot import StoredSnapshot
from flowsim.cli.command import Answer, command
from flowsim.cli.exit_code import ExitCode
from flowsim.cli.options import Json, Limit
from flowsim.cli.recorded_checkpoints import history_answer, subtasks_answer
from flowsim.cli.tables import Column, show_table, show_text
from flowsim.errors import BadInput, did_you_mean
from flowsim.facts.kinds import SnapshotKind
from flowsim.limits import Limits, limits_of
from flowsim.quantities import count_text
from flowsim.recording.epoch_marker import EPOCHS
from flowsim.recording.graph_file import GRAPH
from flowsim.recording.reader import Recording
from flowsim.scenario.run_directory import RECORDING
from flowsim.trace.phrases import SNAPSHOTS
from flowsim.values.keys import jsonable

_LONGEST_TEXT = 100

CheckpointPath = Annotated[
    Path,
    typer.Argument(
        metavar="PATH",
        help="The output directory of 'flowsim run --out', or the folder of a checkpoint or savepoint, or of several.",
        show_default=False,
    ),
]
CheckpointOption = Annotated[
    int | None,
    typer.Option("--checkpoint", metavar="ID", min=1, help="Recording: the subtasks of this checkpoint."),
]
OperatorOption = Annotated[
    str | None, typer.Option("--operator", metavar="NAME", help="Directory: only this operator, by name, uid or id.")
]
StateOption = Annotated[
    str | None, typer.Option("--state", metavar="NAME", help="Directory: only states of this name.")
]
EntriesOption = Annotated[
    int | None,
    typer.Option("--entries", metavar="N", min=1, help="Directory: also show the first N entries of each state."),
]


@command
def checkpoints(
    path: CheckpointPath,
    checkpoint: CheckpointOption = None,
    operator: OperatorOption = None,
    state: StateOption = None,
    entries: EntriesOption = None,
    limit: Limit = None,
    json_output: Json = False,
) -> Answer:
    """Show the history of the checkpoints of a recording, or what a checkpoint directory contains.

    Of a recording: every checkpoint with its times and bytes, restores and restarts; with --checkpoint the measurements of
    its subtasks. Of a directory: operators, subtasks, states, entries and bytes.
    """
    limits = limits_of(limit or ())
    of_directory = (("--operator", operator), ("--state", state), ("--entries", entries))
    if any((folder / EPOCHS).is_dir() or (folder / GRAPH).exists() for folder in (path, path / RECORDING)):
        for option, value in of_directory:
            if value is not None:
                raise BadInput(f"{option}: {path} is a recording: give a checkpoint directory, such as chk-1")
        recording = Recording.open(path, limits=limits)
        return history_answer(recording) if checkpoint is None else subtasks_answer(recording, checkpoint)
    if checkpoint is not None:
        raise BadInput(f"--checkpoint: {path} is no recording: give the folder of the checkpoint, such as chk-1")
    if is_checkpoint(path, limits) or not any(path.glob(f"*/{MANIFEST}")):
        return _contents(StoredSnapshot(path, limits), operator, state, entries)
    for option, value in of_directory:
        if value is not None:
            raise BadInput(f"{option}: {path} has several checkpoints: give the folder of one of them")
    return _list(path, limits)


def _contents(snapshot: StoredSnapshot, operator: str | None, state: str | None, entries: int | None) -> Answer:
    snapshot.verify()
    states = _selected(snapshot, list(stored_states(snapshot)), operator, state)
    entries_shown = list(state_entries(snapshot, states, entries)) if entries is not None else []
    document = {
        **_description(snapshot.manifest),
        "operators": [_operator_data(each) for each in snapshot.manifest.operators],
        "states": [asdict(each) for each in states],
    }
    if entries is not None:
        document["entries"] = [_entry_data(each) for each in entries_shown]
    document["exit_code"] = 0

    def show(console: Console) -> None:
        show_text(console, _title(snapshot.manifest))
        _show_finished(console, snapshot.manifest)
        if not states:
            console.print("no state")
            return
        rows = [
            (
                _short(stored.operator),
                _subtask(stored.subtask),
                _short(stored.state),
                _short(stored.kind),
                f"{stored.entries:,}",
                f"{stored.bytes:,}",
            )
            for stored in states
        ]
        columns = [Column("kind", left=True), Column("entries"), Column("bytes")]
        show_table(console, ["operator", "subtask", "state"], columns, rows)
        if entries is not None:
            console.print()
            _show_entries(console, entries_shown)

    return Answer(document, show)


def _selected(
    snapshot: StoredSnapshot, states: Sequence[StoredState], operator: str | None, state: str | None
) -> list[StoredState]:
    operators = snapshot.manifest.operators
    called = {each.operator_id for each in operators if operator in (each.name, each.uid, each.operator_id)}
    if operator is not None and not called:
        near = did_you_mean(operator, [each.name for each in operators])
        raise BadInput(f"--operator: the checkpoint has no operator {operator!r:.100}{near}")
    selected = [each for each in states if operator is None or each.operator_id in called]
    if state is not None and not any(each.state == state for each in selected):
        near = did_you_mean(state, sorted({each.state for each in selected}))
        raise BadInput(f"--state: there is no state {state!r:.100}{near}")
    return [each for each in selected if state is None or each.state == state]


def _description(manifest: CheckpointManifest) -> dict[str, Any]:
    return {
        "job": manifest.job,
        "checkpoint_id": manifest.checkpoint_id,
        "kind": manifest.kind,
        "timestamp_ms": manifest.timestamp_ms,
        "bytes": sum(part.bytes for parts in manifest.tables.values() for part in parts),
    }


def _title(manifest: CheckpointManifest) -> str:
    size = _description(manifest)["bytes"]
    return (
        f"{SNAPSHOTS[SnapshotKind[manifest.kind]]} {manifest.checkpoint_id} of job {_short(manifest.job)!r}, triggered at "
        f"{manifest.timestamp_ms:,} ms on the job's clock, {count_text(size, 'byte')} in files"
    )


def _operator_data(operator: Any) -> dict[str, Any]:
    return {
        "operator_id": operator.operator_id,
        "operator": operator.name,
        "uid": operator.uid,
        "parallelism": operator.parallelism,
        "max_parallelism": operator.max_parallelism,
        "is_finished": operator.is_finished,
        "finished_subtasks": operator.finished_subtasks,
    }


def _show_finished(console: Console, manifest: CheckpointManifest) -> None:
    for operator in manifest.operators:
        if operator.is_finished:
            show_text(console, f"finished: {_short(operator.name)}")
        elif operator.finished_subtasks:
            subtasks = ", ".join(map(str, operator.finished_subtasks))
            show_text(console, f"finished: {_short(operator.name)}, subtasks {subtasks}")


def _subtask(subtask: int | None) -> str:
    return "-" if subtask is None else str(subtask)


def _entry_data(entry: StateEntry) -> dict[str, Any]:
    document = asdict(entry)
    for name in ("key", "namespace", "value"):
        document[name] = jsonable(getattr(entry, name))
    return document


def _show_entries(console: Console, entries: Sequence[StateEntry]) -> None:
    rows = [
        (
            _short(entry.operator),
            _subtask(entry.subtask),
            _short(entry.state),
            "-" if entry.key_group is None else str(entry.key_group),
            "-" if entry.key_group is None else _text(entry.key),
            "-" if entry.namespace is None else _text(entry.namespace),
            _text(entry.value) if entry.timestamp_ms is None else f"timer at {entry.timestamp_ms} ms",
        )
        for entry in entries
    ]
    columns = [
        Column("group"),
        Column("key", left=True),
        Column("window", left=True),
        Column("value", left=True, dull=frozenset()),
    ]
    show_table(console, ["operator", "subtask", "state"], columns, rows)


def _text(value: object) -> str:
    return _short(json.dumps(jsonable(value), ensure_ascii=False))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."


def _list(path: Path, limits: Limits) -> Answer:
    """Lists the checkpoints of a folder. The first one that cannot be read is the error of the command."""
    manifests: list[tuple[str, CheckpointManifest]] = []
    error: BadInput | None = None
    for directory in sorted((each.parent for each in path.glob(f"*/{MANIFEST}")), key=_by_number):
        try:
            manifests.append((directory.name, StoredSnapshot(directory, limits).manifest))
        except BadInput as damaged:
            error = error or damaged
    code = ExitCode.FINE if error is None else ExitCode.BAD_INPUT
    listed = [{"directory": name, **_description(manifest)} for name, manifest in manifests]
    document = {"checkpoints": listed, "exit_code": int(code)}

    def show(console: Console) -> None:
        columns = [
            Column("kind", left=True),
            Column("id"),
            Column("triggered ms"),
            Column("operators"),
            Column("bytes"),
        ]
        rows = [
            (
                name,
                _short(manifest.job),
                SNAPSHOTS[SnapshotKind[manifest.kind]],
                str(manifest.checkpoint_id),
                f"{manifest.timestamp_ms:,}",
                str(len(manifest.operators)),
                f"{_description(manifest)['bytes']:,}",
            )
            for name, manifest in manifests
        ]
        show_table(console, ["folder", "job"], columns, rows)

    return Answer(document, show, code, error)


def _by_number(directory: Path) -> tuple[str, int, str]:
    stem, _, number = directory.name.rpartition("-")
    is_number = number.isascii() and number.isdecimal() and len(number) < 20
    return stem, int(number) if is_number else 0, directory.name
