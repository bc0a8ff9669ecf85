"""The records that the sinks of a scenario collect under any schedule, computed from the meaning of its blocks alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from flowsim.scenario.language.expressions import compile_expression, compile_record
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.testing.drawing.expected_answers import answered

Record = tuple[Any, ...]
Element = tuple[Record, int | None]
"""A record and its timestamp in ms."""
Block = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Contents:
    """The elements of a stream: how often each is sent, over all subtasks."""

    schema: RecordSchema
    elements: Counter[Element]


Meaning = Callable[[Block, Contents], Contents | None]
"""Returns the elements that an operator sends; None if they depend on the schedule."""


def expected_of(scenario: Block) -> dict[str, Counter[Record]]:
    """Returns how often each sink collects each record, for the sinks whose records do not depend on the schedule.

    There are none if the job has phases, is ended by an action, or can repeat records after a failure.
    """
    checkpointing = scenario.get("settings", {}).get("checkpointing", {"mode": "at_least_once"})
    repeats = "failures" in scenario and checkpointing.get("mode") == "at_least_once"
    ends = any(name in action for action in scenario.get("actions", ()) for name in ("stop", "cancel"))
    if repeats or ends or "phases" in scenario:
        return {}
    streams = {name: _read(block) for name, block in scenario.get("sources", {}).items()}
    for name, block in scenario.get("operators", {}).items():
        streams[name] = _sent(block, streams)
    sinks = {name: _arriving(block, streams) for name, block in scenario["sinks"].items()}
    return {name: _records(each) for name, each in sinks.items() if each is not None}


def _records(contents: Contents) -> Counter[Record]:
    records: Counter[Record] = Counter()
    for (record, _), count in contents.elements.items():
        records[record] += count
    return records


def _read(block: Block) -> Contents | None:
    if "script" not in block:
        return None
    schema = _schema(block["script"]["fields"])
    entries = [entry for script in block["script"]["subtasks"] for entry in script if "record" in entry]
    elements = Counter((tuple(entry["record"]), entry.get("timestamp")) for entry in entries)
    contents = Contents(schema, elements)
    return _stamped(block["watermarks"], contents) if "watermarks" in block else contents


def _sent(block: Block, streams: Mapping[str, Contents | None]) -> Contents | None:
    arriving = _arriving(block, streams)
    kind = next((kind for kind in _MEANINGS if kind in block), None)
    if arriving is None or kind is None or "window" in block or "state_ttl" in block:
        return None
    if kind != "connect":
        return _MEANINGS[kind](block, arriving)
    inner = block["connect"]
    second = _arriving({**inner, "input": inner["to"], "parallelism": block.get("parallelism")}, streams)
    if second is None or not {"map", "flat_map"} & inner.keys():
        return None
    how = "map" if "map" in inner else "flat_map"
    both = [_MEANINGS[how]({how: each}, one) for each, one in zip(inner[how], (arriving, second), strict=True)]
    return _united(both)


def _arriving(block: Block, streams: Mapping[str, Contents | None]) -> Contents | None:
    """Returns what reaches an operator or a sink: of a broadcast each of its subtasks receives everything."""
    names = block["input"] if isinstance(block["input"], list) else [block["input"]]
    united = _united([streams.get(name) for name in names])
    if united is None or block.get("partition") != "broadcast":
        return united
    copies = block.get("parallelism")
    if copies is None:
        return None
    return Contents(united.schema, Counter({each: count * copies for each, count in united.elements.items()}))


def _united(streams: Iterable[Contents | None]) -> Contents | None:
    together: Counter[Element] = Counter()
    schema = None
    for each in streams:
        if each is None:
            return None
        schema = schema or each.schema
        together.update(each.elements)
    return None if schema is None else Contents(schema, together)


def _schema(fields: Mapping[str, str]) -> RecordSchema:
    return RecordSchema(tuple(fields), tuple(map(FieldType, fields.values())))


def _expression(source: str, schema: RecordSchema) -> Callable[[Element], Any]:
    function = compile_expression(source, schema, takes_timestamp=True).function
    return lambda element: function(*element)


def _each(contents: Contents, schema: RecordSchema, results: Callable[[Element], Iterable[Record]]) -> Contents:
    """Returns the results for each element, with its timestamp."""
    elements: Counter[Element] = Counter()
    for element, count in contents.elements.items():
        for record in results(element):
            elements[record, element[1]] += count
    return Contents(schema, elements)


def _mapped(block: Block, contents: Contents) -> Contents | None:
    columns = block["map"].get("add") or block["map"].get("select")
    if columns is None:
        return None
    compiled = compile_record(list(columns.items()), contents.schema, keep="add" in block["map"])
    function, takes_both = compiled.function, compiled.uses_timestamp
    return _each(contents, compiled.schema, lambda each: [function(*each) if takes_both else function(each[0])])


def _filtered(block: Block, contents: Contents) -> Contents | None:
    if not isinstance(block["filter"], str):
        return None
    condition = _expression(block["filter"], contents.schema)
    return _each(contents, contents.schema, lambda each: [each[0]] if condition(each) else [])


def _flat_mapped(block: Block, contents: Contents) -> Contents | None:
    how, schema = block["flat_map"], contents.schema
    if "each" not in how or "type" not in how:
        return None
    items, kept = _expression(how["each"], schema), [schema.index(name) for name in how["keep"]]
    types = tuple(schema.types[place] for place in kept)
    made = RecordSchema(tuple(how["keep"]), types).with_fields((how["into"],), (FieldType(how["type"]),))
    return _each(contents, made, lambda each: [(*(each[0][at] for at in kept), item) for item in items(each)])


def _stamped(strategy: Block, contents: Contents) -> Contents | None:
    """Returns the elements with other timestamps, which an operator or a source assigns."""
    if strategy.get("missing_timestamp") == "drop" or not isinstance(strategy.get("timestamp"), str):
        return None
    timestamp = _expression(strategy["timestamp"], contents.schema)
    elements: Counter[Element] = Counter()
    for element, count in contents.elements.items():
        elements[element[0], timestamp(element)] += count
    return Contents(contents.schema, elements)


def _called(block: Block, contents: Contents) -> Contents | None:
    outcome = answered(block["async"], contents.schema)
    if outcome is None:
        return None
    results = {element: outcome.of(element[0]) for element in contents.elements}
    if any(each is None for each in results.values()):
        return None
    return _each(contents, outcome.schema, lambda each: results[each] or ())


def _rolled(block: Block, contents: Contents) -> Contents | None:
    """Returns the aggregate after each record of a key, if all records of the key are equal; the last have no order."""
    of_key: defaultdict[Any, Counter[Record]] = defaultdict(Counter)
    key = _key(block["key_by"], contents.schema)
    for element, count in contents.elements.items():
        of_key[key(element)][element[0]] += count
    summed = block.get("reduce") or ({block["sum"]: "sum"} if "sum" in block else {})
    places = {contents.schema.index(name) for name, how in summed.items() if how == "sum"}
    elements: Counter[Element] = Counter()
    for records in of_key.values():
        if len(records) > 1:
            return None
        for record, count in records.items():
            for number in range(1, count + 1):
                elements[tuple(v * number if at in places else v for at, v in enumerate(record)), None] += 1
    return Contents(contents.schema, elements)


def _key(key: str | list[str] | Mapping[str, str], schema: RecordSchema) -> Callable[[Element], Any]:
    sources = [key] if isinstance(key, str) else list(key.values()) if isinstance(key, Mapping) else key
    parts = [_expression(source, schema) for source in sources]
    return lambda element: tuple(part(element) for part in parts)


_MEANINGS: Final[Mapping[str, Meaning]] = {
    "map": _mapped,
    "filter": _filtered,
    "flat_map": _flat_mapped,
    "watermarks": lambda block, contents: _stamped(block["watermarks"], contents),
    "async": _called,
    "connect": lambda block, contents: None,
    **dict.fromkeys(("sum", "reduce", "min", "max", "min_by", "max_by"), _rolled),
}
