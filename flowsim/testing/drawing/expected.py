"""The records that the sinks of a scenario collect under any schedule, computed from the meaning of its blocks alone."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from flowsim.datastream.functions import AggregateFunction
from flowsim.scenario.features.window_functions import BOUNDS
from flowsim.scenario.language.aggregates import compile_aggregates
from flowsim.scenario.language.expressions import compile_expression, compile_record
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.testing.drawing.expected_answers import answered, milliseconds

Record = tuple[Any, ...]
Element = tuple[Record, int | None]
"""A record and its timestamp in ms."""
Block = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Contents:
    """The elements of a stream: how often each is sent, over all subtasks."""

    schema: RecordSchema
    elements: Counter[Element]
    in_time: bool = False
    """Whether each element has a timestamp, above every watermark that it can meet."""


Meaning = Callable[[Block, Contents], Contents | None]
"""Returns the elements that an operator sends; None if they depend on the schedule."""


def expected_of(scenario: Block) -> dict[str, Counter[Record]]:
    """Returns how often each sink collects each record, for the sinks whose records do not depend on the schedule.

    There are none if the job has phases, is ended by an action, or can repeat records after a failure.
    """
    checkpointing = scenario.get("settings", {}).get("checkpointing", {"mode": "at_least_once"})
    fails = "failures" in scenario or ":LateOpening" in str(scenario.get("operators"))
    repeats = fails and (checkpointing.get("mode") == "at_least_once" or "interval" not in checkpointing)
    ends = any(name in action for action in scenario.get("actions", ()) for name in ("stop", "cancel"))
    if repeats or ends or "phases" in scenario:
        return {}
    streams = {name: _read(block) for name, block in scenario.get("sources", {}).items()}
    for name, block in scenario.get("operators", {}).items():
        streams[name] = _sent(block, streams)
        if "late_output" in block.get("window", {}) and streams[name] is not None:
            read = _arriving(block, streams)
            streams[f"{name}.{block['window']['late_output']}"] = read and replace(read, elements=Counter())
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
    elements: Counter[Element] = Counter()
    for script in block["script"]["subtasks"]:
        timestamp = None
        for entry in script:
            # A record without a timestamp has that of the one before.
            timestamp = entry.get("timestamp", timestamp)
            if "record" in entry:
                elements[tuple(entry["record"]), timestamp] += 1
    contents = Contents(schema, elements)
    stamped = _stamped(block["watermarks"], contents) if "watermarks" in block else contents
    return stamped and replace(stamped, in_time=_is_in_time(block, schema))


def _is_in_time(source: Block, schema: RecordSchema) -> bool:
    """Whether each record of a source is above the watermarks before it in its split or subtask."""
    strategy, script = source.get("watermarks", {}), source["script"]
    if "idle_after" in strategy or script.get("assignment") == "dynamic":
        return False
    timestamp = _expression(strategy.get("timestamp", "timestamp"), schema)
    # The watermark of a punctuated record is its timestamp.
    behind_ms = 0 if "punctuated" in strategy else milliseconds(strategy.get("max_out_of_orderness", 0)) + 1
    for entries in script["subtasks"]:
        watermarks: defaultdict[object, float] = defaultdict(lambda: float("-inf"))
        for entry in entries:
            split = entry.get("split")
            if "idle" in entry or ("record" in entry and entry.get("timestamp") is None):
                return False
            if "watermark" in entry:
                watermarks[split] = max(watermarks[split], entry["watermark"])
            elif "record" in entry:
                at_ms = timestamp((tuple(entry["record"]), entry["timestamp"]))
                if at_ms <= watermarks[split]:
                    return False
                if strategy:
                    watermarks[split] = max(watermarks[split], at_ms - behind_ms)
    return True


def _sent(block: Block, streams: Mapping[str, Contents | None]) -> Contents | None:
    arriving = _arriving(block, streams)
    kind = next((kind for kind in _MEANINGS if kind in block), None)
    if any(name in str(block) for name in (":OneRecord", ":Punctual", ":LateOpening")):
        return arriving
    if arriving is not None and "window" in block and "aggregate" in block:
        return _aggregated(block, arriving)
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
    return replace(united, elements=Counter({each: count * copies for each, count in united.elements.items()}))


def _united(streams: Iterable[Contents | None]) -> Contents | None:
    together: Counter[Element] = Counter()
    united = list(streams)
    for each in united:
        if each is None:
            return None
        together.update(each.elements)
    first = united[0]
    return first and replace(first, elements=together, in_time=all(each and each.in_time for each in united))


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
    return Contents(schema, elements, contents.in_time)


def _mapped(block: Block, contents: Contents) -> Contents | None:
    columns = block["map"].get("add") or block["map"].get("select")
    if columns is None:
        return None
    compiled = compile_record(list(columns.items()), contents.schema, keep="add" in block["map"])
    function, takes_both = compiled.function, compiled.uses_timestamp
    if takes_both and not _has_timestamps(contents):
        return None
    return _each(contents, compiled.schema, lambda each: [function(*each) if takes_both else function(each[0])])


def _has_timestamps(contents: Contents) -> bool:
    """Whether the timestamps are known: those of an aggregate are not."""
    return all(timestamp is not None for _, timestamp in contents.elements)


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
    if not _has_timestamps(contents):
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


def _aggregated(block: Block, contents: Contents) -> Contents | None:
    """Returns the results of windows of event time that fire once, at their end, for all records in time."""
    window, key = block["window"], block.get("key_by", {})
    shape = next((shape for shape in ("tumbling", "sliding") if shape in window), None)
    if shape is None or not contents.in_time or {"time", "trigger", "evictor"} & window.keys():
        return None
    cut = window[shape] if shape == "sliding" else {"size": window[shape], "slide": window[shape]}
    size_ms, slide_ms, offset_ms = (
        int(milliseconds(each)) for each in (cut["size"], cut["slide"], window.get("offset"))
    )
    key_of, groups = _key(key, contents.schema), defaultdict[tuple[Any, ...], list[Record]](list)
    for element, count in contents.elements.items():
        at_ms = element[1] or 0
        newest_ms = at_ms - (at_ms - offset_ms) % slide_ms
        for start_ms in range(newest_ms, at_ms - size_ms, -slide_ms):
            groups[*key_of(element), start_ms, start_ms + size_ms] += [element[0]] * count
    # The first and the last one are known if the least and the greatest one are equal.
    least, greatest = (
        compile_aggregates(
            {name: re.sub(r"^(first|last)\(", f"{extreme}(", source) for name, source in block["aggregate"].items()},
            contents.schema,
        )
        for extreme in ("min", "max")
    )
    results = {head: _folded(least[0], records) for head, records in groups.items()}
    if any(_folded(greatest[0], records) != results[head] for head, records in groups.items()):
        return None
    having = _expression(block.get("having", "True"), least[1])
    kept = Counter({((*head, *each), head[-1] - 1): 1 for head, each in results.items() if having((each, None))})
    names, types = _key_fields(key, contents.schema)
    bounds = RecordSchema((*names, *BOUNDS), (*types, FieldType.LONG, FieldType.LONG))
    return Contents(bounds.with_fields(least[1].names, least[1].types), kept, in_time=True)


def _folded(function: AggregateFunction, records: Iterable[Record]) -> Record:
    accumulator = function.create_accumulator()
    for record in records:
        accumulator = function.add(record, accumulator)
    result: Any = function.get_result(accumulator)
    return tuple(result)


def _key_fields(
    key: str | list[str] | Mapping[str, str], schema: RecordSchema
) -> tuple[tuple[str, ...], tuple[FieldType, ...]]:
    if isinstance(key, str):
        key = {key if key in schema.names else "key": key}
    named = key if isinstance(key, Mapping) else {name: name for name in key}
    return tuple(named), tuple(compile_expression(source, schema).type for source in named.values())


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
