"""Sources written in the scenario itself: ``collection`` and ``script``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, assert_never, get_args

from pydantic import Field, model_validator

from flowsim.connectors import script
from flowsim.connectors.memory import CollectionSource
from flowsim.connectors.source import Source
from flowsim.connectors.split_assignment import Assignment
from flowsim.errors import BadInput
from flowsim.quantities import count_text
from flowsim.scenario.context import CompileContext, Failed, declared
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.types import DurationMs, FieldTypes, Int64, Name, Row, Strict, chosen_of, exactly_one_of, one_of
from flowsim.scenario.yaml.positions import Path

EntryKind = Literal["record", "watermark", "sleep", "idle", "end"]
ENTRY_KINDS: tuple[EntryKind, ...] = get_args(EntryKind)
_ACCEPTS: dict[FieldType, Callable[[object], bool]] = {
    FieldType.BOOLEAN: lambda cell: type(cell) is bool,
    FieldType.INT: lambda cell: type(cell) is int and -(2**31) <= cell < 2**31,
    FieldType.LONG: lambda cell: type(cell) is int,
    FieldType.DOUBLE: lambda cell: type(cell) is float,
    FieldType.STRING: lambda cell: type(cell) is str,
}


class CollectionModel(Strict):
    """Rows written in the scenario itself."""

    fields: FieldTypes = Field(description="Names and types of the fields of a row, in this order.")
    rows: list[Row] = Field(
        description="The records: one list of values per record, in the order of `fields`. `null` is allowed "
        "everywhere, a whole number is allowed for a double."
    )


class ScriptEntryModel(Strict, json_schema_extra=exactly_one_of(*ENTRY_KINDS)):
    """One step of a scripted source's subtask: a record, a watermark, a pause, idleness or the end."""

    record: Row | None = Field(default=None, description="Emits this record: its values in the order of `fields`.")
    timestamp: Int64 | None = Field(
        default=None, description="Timestamp of the record in ms; without it the timestamp of the previous record."
    )
    watermark: Int64 | None = Field(
        default=None, description="Emits this watermark, in ms; not for a source with `watermarks`."
    )
    sleep: DurationMs | None = Field(default=None, description="Pauses the subtask for this time.")
    idle: Literal[True] | None = Field(
        default=None,
        description="Declares the subtask, or its split, idle until its next watermark; without `watermarks` also "
        "until its next record.",
    )
    end: Literal[True] | None = Field(
        default=None, description="Ends the input of the subtask, or of its split, at this entry."
    )
    split: Name | None = Field(
        default=None,
        description="The split of the entry. All splits of a subtask exist from the beginning, each with its own "
        "event time; with `end`, only that split ends.",
    )
    step: Annotated[int, Field(ge=0, le=10**9)] | None = Field(
        default=None,
        description="The entry happens (step + 1) gaps after the start; this orders entries over all scripted "
        "sources. Without it, an entry follows the one before immediately.",
    )

    @model_validator(mode="after")
    def _one_action(self) -> ScriptEntryModel:
        action = one_of(self, ("record", "watermark", "sleep", "idle", "end"))
        if self.timestamp is not None and action != "record":
            raise ValueError(f"timestamp belongs to a record, this entry is a {action}")
        return self


class ScriptModel(Strict):
    """Scripts; with fixed assignment one per subtask, and the parallelism is their number."""

    fields: FieldTypes = Field(description="Names and types of the fields of a record, in this order.")
    subtasks: Annotated[list[list[ScriptEntryModel]], Field(min_length=1, max_length=1000)] = Field(
        description="One list of entries per subtask."
    )
    gap: DurationMs = Field(default=10, description="Virtual time between two steps.")
    assignment: Assignment = Field(
        default="fixed",
        description="`fixed`: each subtask has its script; `dynamic`: each list is a split, and a subtask requests "
        "the next one when it has none. The time of a list then starts with its first entry, and its entries name no "
        "splits.",
    )

    def first_of(self, kind: EntryKind) -> tuple[int, int] | None:
        """Returns the subtask and the index of the first entry of a kind; None without one."""
        for subtask, entries in enumerate(self.subtasks):
            for index, entry in enumerate(entries):
                if getattr(entry, kind) is not None:
                    return subtask, index
        return None


def compile_collection(
    context: CompileContext, path: Path, model: CollectionModel, parallelism: int
) -> tuple[Source, RecordSchema]:
    """Compiles a source of the rows in the block; raises Failed."""
    schema = declared(model.fields)
    rows = [_row(context, (*path, "rows", index), row, schema) for index, row in enumerate(model.rows)]
    return CollectionSource(rows), schema


def compile_script(
    context: CompileContext, path: Path, model: ScriptModel, parallelism: int
) -> tuple[Source, RecordSchema]:
    """Compiles a source of the entries in the block, subtask by subtask; raises Failed."""
    schema = declared(model.fields)
    scripts = [
        [_entry(context, (*path, "subtasks", i, j), entry, schema) for j, entry in enumerate(entries)]
        for i, entries in enumerate(model.subtasks)
    ]
    try:
        source = script.ScriptedSource(*scripts, gap_ms=model.gap, assignment=model.assignment)
    except script.BadEntry as error:
        raise context.fail((*path, "subtasks", error.subtask, error.index, error.key), error.reason) from None
    except BadInput as error:
        context.problems.bad_input(path, error)
        raise Failed from None
    return source, schema


def check_event_time_entries(context: CompileContext, path: Path, model: ScriptModel, *, legacy: bool) -> None:
    """Refuses entries of the script at ``path`` that its source's watermark strategy contradicts; raises Failed."""
    watermark = model.first_of("watermark")
    if watermark is not None:
        raise context.fail(
            (*path, "subtasks", *watermark, "watermark"),
            "the watermarks of this source generate its watermarks: remove the watermark entries of the script, or "
            "watermarks (idle entries can stay)",
        )
    idle = model.first_of("idle")
    if idle is not None and legacy:
        raise context.fail(
            (*path, "subtasks", *idle, "idle"),
            "with legacy, an operator after the source generates the watermarks, and ignores the idleness of the "
            "source (rule 8.7): remove the idle entries, legacy or watermarks",
        )


def _entry(context: CompileContext, path: Path, model: ScriptEntryModel, schema: RecordSchema) -> script.Entry:
    step, split = script.FREE if model.step is None else model.step, model.split
    kind, value = chosen_of(model, ENTRY_KINDS)
    match kind:
        case "record":
            row = _row(context, (*path, "record"), value, schema)
            return script.record(row, model.timestamp, step=step, split=split)
        case "watermark":
            return script.watermark(value, step=step, split=split)
        case "sleep":
            if split is not None:
                raise context.fail((*path, "split"), "a pause applies to the whole subtask, remove split")
            return script.sleep(value, step=step)
        case "idle":
            return script.idle(step=step, split=split)
        case "end":
            return script.end(step=step, split=split)
    assert_never(kind)


def _row(context: CompileContext, path: Path, row: Row, schema: RecordSchema) -> tuple[object, ...]:
    if len(row) != len(schema.names):
        raise context.fail(
            path, f"expected {count_text(len(schema.names), 'value')} ({', '.join(schema.names)}), got {len(row)}"
        )
    cells: list[object] = []
    for index, (cell, kind, name) in enumerate(zip(row, schema.types, schema.names, strict=True)):
        # A double may be written as a whole number.
        value = float(cell) if kind is FieldType.DOUBLE and type(cell) is int else cell
        if value is not None and not _ACCEPTS[kind](value):
            article = "an" if kind is FieldType.INT else "a"
            raise context.fail((*path, index), f"expected {article} {kind.value} for {name}, got {cell!r:.40}")
        cells.append(value)
    return tuple(cells)
