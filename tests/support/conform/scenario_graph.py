"""The shapes of the sources and operators of a scenario."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from tests.support.conform.function_shapes import (
    OPERATOR_STATES,
    ORDERED,
    STATES,
    TIMERS,
    functions_of,
    orders_of,
    words_of,
)
from tests.support.conform.job_shapes import Shapes, add, add_exchange, pair
from tests.support.conform.scenario_words import (
    Block,
    answer_of,
    checkpoints_of,
    exchange_of,
    key_type,
    latencies_ms,
    ns,
    streams_of,
    window_of,
)

STATELESS: Final = {"map": "map", "filter": "filter", "flat_map": "flat map", "watermarks": "timestamps and watermarks"}
ROLLING: Final = {
    each: f"rolling {each}".replace("_", " ") for each in ("sum", "min", "max", "min_by", "max_by", "reduce")
}
OTHERS: Final = {
    "connect": "", "broadcast": "", "async": "", "process": "", "alarm": "keyed process function", "join": "window join",
    "co_group": "coGroup", "interval_join": "interval join",
}  # fmt: skip


class ScenarioGraph:
    """Collects the shapes of the sources and operators of one scenario."""

    def __init__(self, data: Block) -> None:
        self.data = data
        self.settings: Block = data.get("settings", {})
        self.sources: Block = data["sources"]
        self.operators: Block = data.get("operators", {})
        self.shapes: Shapes = set()
        self.kinds: dict[str, str] = {}
        """Of each operator, as pairs name it."""
        self.words: dict[str, str] = {}
        """The operator of each name."""
        self.checkpoints = checkpoints_of(self.settings)
        for name, source in self.sources.items():
            self._add_source(name, source)
        for name, block in self.operators.items():
            self._add_operator(name, block)
        self._add_readers()

    # Sources.

    def parallelism(self, name: str, changes: Block | None = None) -> int:
        changes = changes or {}
        block = self.sources.get(name) or self.operators.get(name) or self.data["sinks"][name]
        section = "sources" if name in self.sources else "operators" if name in self.operators else "sinks"
        default = changes.get("settings.parallelism", self.settings.get("parallelism", 1))
        script = block.get("script", {})
        if section == "sources" and script and script.get("assignment") != "dynamic":
            default = len(script["subtasks"])
        if "collection" in block or ("window" in block and "key_by" not in block):
            default = 1
        return int(changes.get(f"{section}.{name}.parallelism", block.get("parallelism", default)))

    def _add_source(self, name: str, block: Block) -> None:
        shapes = self.shapes
        kind = next(each for each in block if each in (
            "csv", "parquet", "jsonl", "collection", "script", "generator", "partitioned_generator", "python",
        ))  # fmt: skip
        inner = block[kind]
        is_legacy = block.get("legacy") is True
        strategy = block.get("watermarks")
        words = {
            "collection": "collection", "generator": "generator", "partitioned_generator": "log with partitions",
            "python": "own source",
        }  # fmt: skip
        api = "source function" if is_legacy or strategy is None else "source"
        word = words.get(kind, "files") if kind != "script" else api
        add(shapes, "source", f"legacy {word}" if is_legacy and kind != "script" else word)
        if isinstance(inner, Mapping) and inner.get("assignment") == "dynamic":
            add(shapes, "source", "splits assigned on request")
        add(shapes, "source", "several subtasks" if self.parallelism(name) > 1 else "one subtask")
        if strategy is not None:
            self._add_strategy(strategy, api)
        if kind == "script":
            if strategy is None:
                add(shapes, "watermarks", "written")
                pair(shapes, "watermarks x source", ["written"], [api])
            for script in inner["subtasks"]:
                self._add_script(script, strategy)

    def _add_strategy(self, strategy: Block, api: str) -> None:
        shapes = self.shapes
        if "punctuated" in strategy:
            kind = "punctuated"
        elif "generator" in strategy:
            kind = "own generator"
        elif strategy.get("emit") == "every_record":
            kind = "every record"
        elif strategy.get("emit") == "never":
            kind = "never"
        else:
            bounded = ns(strategy.get("max_out_of_orderness", 0)) > 0
            kind = "bounded out of orderness" if bounded else "monotonous timestamps"
        add(shapes, "watermarks", kind)
        pair(shapes, "watermarks x source", [kind], [api])
        if strategy["timestamp"] != "timestamp":
            add(shapes, "watermarks", "timestamp assigner")
        if "idle_after" in strategy:
            add(shapes, "watermarks", "idle timeout")
        if "alignment" in strategy:
            add(shapes, "watermarks", "alignment")
            if "idle_after" in strategy:
                add(shapes, "watermarks", "alignment with a source that becomes idle")

    def _add_script(self, script: Sequence[Block], strategy: Block | None) -> None:
        shapes = self.shapes
        newest, marks, was_idle = None, [], False
        for entry in script:
            timestamp = entry.get("timestamp")
            if "record" in entry:
                if timestamp is None:
                    add(shapes, "record", "without timestamp" if newest is None else "with the timestamp before")
                elif newest is not None and timestamp < newest:
                    add(shapes, "record", "out of order")
                if timestamp is not None and marks and timestamp <= max(marks):
                    add(shapes, "record", "late")
                newest = timestamp if timestamp is not None else newest
            elif "watermark" in entry:
                if marks and entry["watermark"] <= marks[-1]:
                    add(shapes, "watermark", "not above the one before")
                if was_idle:
                    add(shapes, "source", "active again with a watermark")
                marks.append(entry["watermark"])
            elif entry.get("idle"):
                was_idle = True
                add(shapes, "source", "idle", *(["idle split"] if "split" in entry else []))
            elif "end" in entry and "split" in entry:
                add(shapes, "source", "split that ends")
            elif "sleep" in entry:
                add(shapes, "timing", "pauses")
            if "split" in entry:
                add(shapes, "source", "splits")
                if strategy is not None and "idle_after" in strategy:
                    add(shapes, "watermarks", "idle timeout of splits")
                if strategy is not None and "alignment" in strategy:
                    add(shapes, "watermarks", "alignment of splits")
        has_steps = any("step" in entry for entry in script)
        add(shapes, "timing", "entries at instants of their own" if has_steps else "entries at once")

    # Operators.

    def _add_operator(self, name: str, block: Block) -> None:
        shapes = self.shapes
        operator, inner = self._operator(block)
        plain = "stateless function" if operator in STATELESS.values() else operator
        self.kinds[name] = plain
        self.words[name] = operator
        add(shapes, "operator", operator)
        is_all = "window" in block and "key_by" not in block
        both = inner if isinstance(inner, Mapping) and "to" in inner else {}
        is_keyed = "key_by" in block or "key_by" in both
        if not is_all:
            for number, streams in enumerate((streams_of(block["input"]), streams_of(both.get("to", [])))):
                partition = block.get("partition") if number == 0 else both.get("partition")
                exchange = (
                    "hash"
                    if is_keyed and not (number == 1 and operator.endswith("broadcast process function"))
                    else exchange_of(partition)
                )
                for stream in streams:
                    before = self.parallelism(stream.partition(".")[0])
                    if number == 0 or "broadcast" not in block:
                        add_exchange(shapes, plain, exchange, before, self.parallelism(name))
        first, second = set(streams_of(block["input"])), set(streams_of(both.get("to", [])))
        if len(first) > 1 or len(second) > 1:
            add(shapes, "input", "union")
        if len(streams_of(block["input"])) > len(first):
            add(shapes, "input", "union of a stream with itself")
        if first & second:
            add(shapes, "input", "one stream on both inputs")
        if both.get("read", "any") != "any":
            add(shapes, "input", f"read: {both['read']}")
        keys = [block["key_by"]] if "key_by" in block else list(both.get("key_by", []))
        add(shapes, "key type", *(key_type(key) for key in keys))
        if block.get("chaining", "always") != "always":
            add(shapes, "chaining", "operator that is not chained")
        if "slot_sharing_group" in block:
            add(shapes, "slot sharing group", "apart")
        if "state_ttl" in block:
            add(shapes, "state", "with a time to live")
        if "cost" in block:
            add(shapes, "cost", "slow operator")
        if is_keyed or "window" in block:
            add(shapes, "max parallelism", "set" if "max_parallelism" in {**self.settings, **block} else "default")
        add(shapes, "parallelism", str(self.parallelism(name)))
        window = block.get("window") or both.get("window")
        if window is not None:
            self._add_window(operator, block, window)
        if "watermarks" in block:
            self._add_strategy(block["watermarks"], "source function")
        if "alarm" in block:
            self._add_alarm(block["alarm"])
        self._add_functions(block)
        if "interval_join" in block:
            self._add_interval_join(both)
        if "async" in block:
            self._add_async(block)

    def _operator(self, block: Block) -> tuple[str, Any]:
        """The operator in Flink's words, and its block."""
        for kind, word in STATELESS.items():
            if kind in block:
                return word, block[kind]
        if "window" in block:
            return ("window" if "key_by" in block else "windowAll"), block["window"]
        for kind, word in ROLLING.items():
            if kind in block:
                return word, block[kind]
        match next(kind for kind in block if kind in OTHERS):
            case "connect":
                inner = block["connect"]
                kind = next(each for each in ("map", "flat_map", "process") if each in inner)
                word = f"co {kind}".replace("_", " ") + (" function" if kind == "process" else "")
                return (f"keyed {word}" if "key_by" in inner else word), inner
            case "broadcast":
                keyed = "keyed " if "key_by" in block else ""
                return f"{keyed}broadcast process function", block["broadcast"]
            case "async":
                return ("legacy async" if block["async"].get("design") == "legacy" else "async"), block["async"]
            case "process":
                return ("keyed process function" if "key_by" in block else "process function"), block["process"]
            case kind:
                return OTHERS[kind], block[kind]

    def _add_window(self, operator: str, block: Block, window: Block) -> None:
        shapes = self.shapes
        made = window_of(window)
        made.add_to(shapes)
        if made.trigger and "session" in made.assigner:
            add(shapes, "window", "merged, with a trigger of its own")
        # Without a key and without bounds, a window function has nothing to add to the aggregates.
        is_alone = operator == "windowAll" and (window.get("global_window") or "count" in window)
        for kind in ("aggregate", "reduce", "process"):
            if kind in block and operator in ("window", "windowAll"):
                add(
                    shapes, "window function", "aggregate and process" if kind == "aggregate" and not is_alone else kind
                )
        if "having" in block:
            add(shapes, "window function", "aggregate without a result")
        before = {self.kinds.get(stream.partition(".")[0]) for stream in streams_of(block["input"])}
        if before & {"window", "windowAll"}:
            add(shapes, "window", "of the results of windows")
        if "async" in before:
            pair(shapes, "operator x before", ["window"], ["async operator"])
        if "async" in self.kinds.values() and operator == "window":
            pair(shapes, "operator x before", ["window"], ["exchange"])

    def _add_alarm(self, alarm: Block) -> None:
        time = "processing time" if alarm.get("time") == "processing" else "event time"
        words = {time, *([f"{time}, deleted"] if "cancel" in alarm or alarm.get("renew", True) else [])}
        self._add_state({"value"})
        self._add_timers(words)

    def _add_functions(self, block: Block) -> None:
        names = functions_of(block)
        if set(names) & set(ORDERED):
            orders = orders_of(self.operators, block)
            self._add_state(words_of(STATES, orders))
            self._add_timers(words_of(TIMERS, orders))
        if "OperatorStates" in names:
            self._add_state(OPERATOR_STATES)
        if "WindowContents" in names:
            add(self.shapes, "window function", "with state")

    def _add_timers(self, words: Iterable[str]) -> None:
        add(self.shapes, "timers", *words)
        pair(self.shapes, "timers x checkpoint", words, [self.checkpoints])

    def _add_state(self, words: Iterable[str]) -> None:
        add(self.shapes, "state", *words)
        pair(self.shapes, "state x checkpoint", words, [self.checkpoints])

    def _add_interval_join(self, join: Block) -> None:
        for bound in ("lower", "upper"):
            add(
                self.shapes,
                "interval join",
                f"{bound} {'exclusive' if join.get(f'{bound}_exclusive') else 'inclusive'}",
            )
        for side in ("left", "right"):
            if f"late_{side}" in join:
                add(self.shapes, "interval join", f"late {side} output")

    def _add_async(self, block: Block) -> None:
        shapes, call = self.shapes, block["async"]
        if call.get("design") == "legacy":
            return
        mode = call["mode"]
        add(shapes, "async", mode)
        capacity = call.get("capacity", 100)
        pair(shapes, "async x capacity", [mode], ["1" if capacity == 1 else "few" if capacity < 10 else "many"])
        on_timeout = call.get("on_timeout", "fail")
        timeout = (
            "without timeout" if "timeout" not in call else "replace" if isinstance(on_timeout, Mapping) else on_timeout
        )
        pair(shapes, "async x on timeout", [mode], [timeout])
        answers = {word for word, key in (("error", "fails"), ("none", "silent")) if key in call}
        latencies = latencies_ms(call.get("latency", "1 ms"))
        if "answers" in call:
            answers |= {answer_of(each) for each in call["answers"]}
            latencies = {each for answer in call["answers"] for each in latencies_ms(answer.get("latency", 0))}
        else:
            answers.add("one result")
        timeout_ms = ns(call.get("timeout", "never")) / 10**6
        if 0 in latencies:
            answers.add("at once")
        if any(abs(latency - timeout_ms) <= 2 for latency in latencies):
            answers.add("near the timeout")
        if any(latency > timeout_ms for latency in latencies) or "spikes" in call:
            answers.add("after the timeout")
        if call.get("lookup", {}).get("missing") == "drop":
            answers.add("no result")
        add(shapes, "async answer", *answers)
        pair(shapes, "async x answer", [mode], answers)
        retry = call.get("retry")
        if retry is not None:
            kind = "fixed" if "fixed" in retry else "exponential"
            causes = ["result"] * bool("when" in retry or retry.get("when_empty")) + ["exception"] * retry.get(
                "on_error", True
            )
            pair(shapes, "async retry x cause", [kind], [" or ".join(causes)])
            pair(shapes, "async x retry", [mode], [kind])
            pair(shapes, "async retry x on timeout", [kind], [timeout])
        for stream in streams_of(block["input"]):
            is_chained = (
                exchange_of(block.get("partition")) == "default"
                and "key_by" not in block
                and block.get("chaining", "always") == "always"
            )
            name = stream.partition(".")[0]
            for before in {table.get(name, "source") for table in (self.kinds, self.words)}:
                is_direct = is_chained or before == "keyed process function"
                found = {"async": "async operator"}.get(before, before) if is_direct else "exchange"
                pair(shapes, "async x before", [mode], [found])
                if capacity == 1:
                    add(shapes, "async before", f"{found if before != 'source' else before}, with capacity 1")

    def _add_readers(self) -> None:
        readers: dict[str, list[str]] = {}
        for name, block in (*self.operators.items(), *self.data["sinks"].items()):
            _, inner = self._operator(block) if name in self.operators else ("", {})
            both = inner if isinstance(inner, Mapping) else {}
            for stream in {*streams_of(block["input"]), *streams_of(both.get("to", []))}:
                readers.setdefault(stream, []).append(name)
        for names in readers.values():
            if len(names) > 1:
                add(self.shapes, "stream", "several readers")
                if len({self.parallelism(name) for name in names}) > 1:
                    add(self.shapes, "stream", "readers of other parallelism")
