"""The formats of fields in templates of sentences; ``report/web/src/model/sentences.ts`` has the same for the viewer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from flowsim.facts.kinds import CheckpointReason
from flowsim.graph.alignment import FORCED_RULE
from flowsim.quantities import count_text, duration_text
from flowsim.trace.names import Names
from flowsim.trace.sentence import element_text, record_text, time_text, window_text
from flowsim.trace.template import Field
from flowsim.trace.time import event_time
from flowsim.units import NS_PER_MS

Row: TypeAlias = tuple[int, ...]
Text: TypeAlias = Callable[[Names, Row], str]
Places: TypeAlias = Mapping[str, int]
"""The places of the columns in a row."""


def reader_of(field: Field, places: Places) -> Text:
    """Returns the function that writes a field of a row; raises KeyError for a format or a column that does not exist."""
    if field.format in FORMATS_OF_ROWS:
        return FORMATS_OF_ROWS[field.format](places, field)
    argument, place = field.text, places[field.column]
    if field.format in ("number", field.column) and field.format not in FORMATS:
        return lambda names, row: str(row[place])
    write = FORMATS[field.format]
    return lambda names, row: write(names, row[place], argument)


def property_reader(name: str, places: Places) -> Callable[[Names, Row], int | str]:
    """Returns the function that reads what a guard compares and no column has: ``keyed`` or ``state_kind``."""
    if name == "state_kind":
        return lambda names, row: _state(names, row, places)[1]
    channel = places["channel"]
    return lambda names, row: names.is_keyed(row[channel])


FORMATS: Final[Mapping[str, Callable[[Names, int, str], str]]] = {
    ",": lambda names, value, argument: f"{value:,}",
    "count": lambda names, value, nouns: count_text(value, *nouns.split("/")),
    "time": lambda names, value, argument: event_time(value),
    "in_brackets": lambda names, value, argument: time_text(value),
    "duration": lambda names, value, argument: duration_text(value),
    "ms": lambda names, value, argument: f"{value // NS_PER_MS:,}",
    "exact_ms": lambda names, value, argument: f"{value / NS_PER_MS:,g}",
    "percent": lambda names, value, argument: f"{value / 1e4:.1f}",
    "value": lambda names, value, argument: names.value(value) if value else "",
    "name": lambda names, value, argument: names.value(value) or f"#{value}",
    "key": lambda names, value, argument: names.key(value),
    "pool": lambda names, value, argument: names.pool(value),
    "edge": lambda names, value, argument: names.edge(value),
    "vertex": lambda names, value, argument: names.vertex(value),
    "task": lambda names, value, argument: names.short_task(value),
    "channel": lambda names, value, argument: names.channel(value),
    "cause": lambda names, value, argument: names.reason(value),
    "reason": lambda names, value, argument: CheckpointReason(value).name,
}
"""Formats of the value of one column; ``argument`` is the text behind the format."""


def _state(names: Names, row: Row, places: Places) -> tuple[str, str]:
    return names.state(row[places["task"]], row[places["operator"]], row[places["state"]])


def _state_text(places: Places, field: Field) -> Text:
    def text(names: Names, row: Row) -> str:
        name, kind = _state(names, row, places)
        return f"{kind} state {name!r}" if kind else name

    return text


def _operator(places: Places, field: Field) -> Text:
    task, operator = places["task"], places["operator"]
    return lambda names, row: names.operator(row[task], row[operator])


def _split(places: Places, field: Field) -> Text:
    task, operator, split = places["task"], places["operator"], places["split"]
    return lambda names, row: names.split(row[task], row[operator], row[split])


def _target(places: Places, field: Field) -> Text:
    channel = places["channel"]
    return lambda names, row: names.target(row[channel])


def _source(places: Places, field: Field) -> Text:
    channel = places["channel"]
    return lambda names, row: names.source(row[channel])


def _other_end(places: Places, field: Field) -> Text:
    task, channel = places["task"], places["channel"]
    return lambda names, row: names.end_of(row[task], row[channel])


def _element(places: Places, field: Field) -> Text:
    kind, timestamp, record = places["kind"], places["timestamp"], places.get("fingerprint")
    if record is None:
        return lambda names, row: element_text(row[kind], row[timestamp])
    return lambda names, row: element_text(row[kind], row[timestamp], names.value(row[record]))


def _record(places: Places, field: Field) -> Text:
    noun, timestamp, record = field.text, places["timestamp"], places[field.column]
    return lambda names, row: record_text(noun, row[timestamp], names.value(row[record]))


def _window(places: Places, field: Field) -> Text:
    if field.text:
        start, end = places[field.column], places[field.text]
    else:
        start, end = places["window_start"], places["window_end"]
    return lambda names, row: window_text(row[start], row[end])


def _forced(places: Places, field: Field) -> Text:
    """Why a barrier does not overtake, if the checkpoint is unaligned (rule 12.19)."""
    channel, checkpoint = places["channel"], places[field.column]

    def text(names: Names, row: Row) -> str:
        forced = names.forced_barrier(row[channel], row[checkpoint])
        return "" if forced is None else forced.short

    return text


def _forced_rule(places: Places, field: Field) -> Text:
    text = _forced(places, field)
    return lambda names, row: FORCED_RULE if text(names, row) else ""


FORMATS_OF_ROWS: Final[Mapping[str, Callable[[Places, Field], Text]]] = {
    "operator": _operator,
    "split": _split,
    "target": _target,
    "source": _source,
    "other_end": _other_end,
    "element": _element,
    "record": _record,
    "window": _window,
    "state": _state_text,
    "forced": _forced,
    "forced_rule": _forced_rule,
}
"""Formats that read several columns."""
