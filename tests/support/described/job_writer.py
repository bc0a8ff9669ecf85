"""Random descriptions of jobs (``described_jobs``), the same for the same seed.

Only what Flink determines is written. Entries of several scripts are ordered by steps, so that no order between channels
is left open; a free script (without steps) goes alone. Where processing time matters, steps are a prime number of ms apart
and nothing else is due at the ms of a step.
"""

from __future__ import annotations

import random
from typing import Any

from tests.support.described.script_writer import Script, ScriptWriter, goes_back, split_up

Job = dict[str, Any]

START_MS = 1000
GAP_MS = 97
MOST_STEPS = 58


def meets_a_step(period_ms: int, offset_ms: int) -> bool:
    """Whether something that is due every so often falls on the ms of a step."""
    return any((START_MS + GAP_MS * step - offset_ms) % period_ms == 0 for step in range(1, MOST_STEPS + 1))


ONE_INPUT = (
    "pass",
    "timers",
    "state",
    "reduce",
    "tumbling",
    "sliding",
    "session",
    "global",
    "count",
    "processing_time",
)
TWO_INPUTS = (
    "interval_join", "window_join", "co_group", "co_map", "co_flat_map", "co_process", "keyed_co_process", "broadcast",
    "keyed_broadcast",
)  # fmt: skip
PERIODIC = ["bounded", "monotonous"]
INTERVALS = [period for period in (90, 110, 130, 150, 170, 250) if not meets_a_step(period, 1)]

FAMILIES = (*ONE_INPUT, *TWO_INPUTS, "exchange", "flood")
"""What a job is about; windows are one kind of many families.

``exchange``: records pass an edge of any kind, one step at a time. ``flood``: the same without steps, so much at once that
senders wait for buffers and credits; only the order within a channel is determined.
"""
EDGES = ("forward", "rebalance", "rescale", "global", "broadcast", "custom")
USE_ORDERS = ("state", "timers", "keyed_co_process", "keyed_broadcast")
BUFFERS = ((2, 8), (1, 2), (1, 1), (0, 2), (0, 1))
"""Exclusive buffers per channel and floating ones per gate."""


class JobWriter:
    """Writes one description."""

    def __init__(self, seed: int, families: tuple[str, ...] = FAMILIES) -> None:
        self.seed = seed
        self.chance = random.Random(seed)
        self.family = families[seed % len(families)]
        self.manual_time = self.family == "processing_time" or self.often(0.35)
        self.base = self.chance.choice([0, 0, 0, -60, -1_000_003, 1_700_000_000_000])
        joins = self.family in ("interval_join", "window_join", "co_group")
        count = self.chance.choice([1, 1, 2] if joins else [1, 2, 2, 4, 8])
        self.keys = [f"k{number}" for number in self.chance.sample(range(-5, 12), count)]
        self.fails_without_timestamp = joins or self.family in ("tumbling", "sliding", "session")
        self.next_number = 0
        self.period_ms = self.chance.choice([62, 72, 88, 150])
        self.interval_ms = self.period_ms
        self.may_be_periodic = self.manual_time
        """Whether a source may emit periodically: one of them, at even ms, while nothing else is due at even ms."""
        self.padding = 0
        """Up to so many numbers are added to a record that needs none, so that few records fill a buffer."""
        self.has_late_timers = False
        """Whether timers are set for times that have passed: they fire at once, before or after what follows."""

    def often(self, share: float) -> bool:
        return self.chance.random() < share

    def job(self) -> Job:
        chance = self.chance
        body = self.body()
        self.has_late_timers = any(kind in str(body.get("trigger")) for kind in ("continuous_processing", "timeout"))
        is_all = body.get("all") is True
        has_keys = not is_all and body.get("keyed", True) and self.family != "broadcast"
        inputs = self.inputs(2 if self.family in TWO_INPUTS else 1)
        sources = 1 + max(map(max, inputs))
        parallelism = 1 if is_all else chance.choice([1, 1, 2, 3, 4])
        subtasks = [chance.choice([1, 1, 1, 1, 2, 3]) for _ in range(sources)]
        edges = ["none"] * len(inputs)
        if not has_keys and not is_all:
            edges = [self.edge() for _ in inputs]
            for numbers, edge in zip(inputs, edges, strict=True):
                if edge in ("none", "forward"):
                    # A record goes to the subtask of the same number.
                    for number in numbers:
                        subtasks[number] = parallelism
        is_single_value = body.get("function") == "reduce" and "event_time" in body["assigner"]["kind"]
        if is_single_value and self.often(0.7):
            parallelism = 1  # of several subtasks Flink leaves open whose windows come first
            body["then_ms"] = chance.choice([5, 20, 40])
        is_flood = self.family == "flood"
        has_one_channel = subtasks == [1] and inputs == [[0]]
        is_free = is_flood or (has_one_channel and not self.manual_time and self.often(0.5))
        out_edge, probes = self.out_edge(body["kind"], parallelism)
        twice = {number for numbers in inputs for number in numbers if numbers.count(number) > 1}
        writer = ScriptWriter(chance, self, subtasks, twice)
        network = self.network(is_free=is_free, has_two_channels_at_once=bool(twice))
        if is_free and self.often(0.5):
            self.padding = chance.choice([0, 40, 300])
        if is_flood:
            writer.idles = 0.0
        scripts, steps = (writer.free(is_long=is_flood), 0) if is_free else writer.in_steps(MOST_STEPS)
        job = {
            "seed": self.seed,
            "family": self.family,
            "sources": [self.source(script, number in twice) for number, script in enumerate(scripts)],
            "inputs": inputs,
            "parallelism": parallelism,
            "max_parallelism": chance.choice([None, None, 4, 7, 128, 300]),
            "chaining": self.manual_time or self.often(0.7),
            "key_type": chance.choice(["STRING", "STRING", "INT", "LONG"]),
            "after": self.functions(
                ["map", "filter", "flat_map"], chance.choice([0, 0, 1, 2]), may_fail=parallelism == 1
            ),
            "edges": edges,
            "out_edge": out_edge,
            "probe_parallelism": probes,
            "probe_cost_ns": chance.choice([0, 0, 50_000]) if is_free else 0,
            "network": network,
            "compare": "channels" if is_flood else "all",
            "cost_ns": 1000,
            "steps": steps,
            "manual_time": self.manual_time,
            # A step is over when all that it set going was flushed at every edge.
            "gap_ms": GAP_MS if self.manual_time else 10 + 10 * max(network["buffer_timeout_ms"], 0),
            "auto_watermark_interval_ms": self.interval_ms if self.manual_time else 0,
            **body,
        }
        if not has_keys and {"none", "forward"} & set(edges) and goes_back(job):
            # On Flink a slot sharing group would cut the chain of source and operator, and a channel drops the watermark.
            network["apart"] = False
        return job

    # The edges.

    def edge(self) -> str:
        """Of an input without keys; the operator may have another parallelism than the source unless it is forward."""
        share = 1.0 if self.family in ("exchange", "flood") else 0.5
        return self.chance.choice(EDGES) if self.often(share) else "none"

    def out_edge(self, kind: str, parallelism: int) -> tuple[str, int]:
        """The edge to the probes and their parallelism: one by which each of them reads a single channel."""
        if kind == "pass" or not self.often(0.35):
            return "none", parallelism
        if parallelism == 1:
            edge = self.chance.choice(["rebalance", "rescale", "global", "broadcast"])
            return edge, self.chance.choice([1, 2, 3, 4])
        return ("rescale", 4) if parallelism == 2 and self.often(0.6) else ("forward", parallelism)

    def network(self, *, is_free: bool, has_two_channels_at_once: bool) -> Job:
        """Only a free job and one of several task managers, whose segments are large, may do without flushes: there the
        order of what arrives does not depend on how much fits into a buffer."""
        chance = self.chance
        spread = self.often(0.35)
        timeouts = [0, 0, 0]
        if not self.manual_time:
            timeouts += [1, 1, 3]  # flushes happen on the wall clock there, which manual time does not move
        sets_timers = self.manual_time and (self.family in USE_ORDERS or self.has_late_timers)
        if is_free or (spread and not has_two_channels_at_once and not sets_timers):
            timeouts += [-1, -1]
        exclusive, floating = chance.choice(BUFFERS)
        return {
            "buffer_timeout_ms": chance.choice(timeouts),
            "spread": spread,
            "apart": spread and self.often(0.5),
            "exclusive": exclusive,
            "floating": floating,
        }

    def functions(self, names: list[str], count: int, *, may_fail: bool = True) -> list[str]:
        """Some of these, and now and then one that fails: where it is determined which subtask fails first."""
        chosen = [self.chance.choice(names) for _ in range(count)]
        return [*chosen, "refuse"] if may_fail and self.often(0.05) else chosen

    # What comes before the operator.

    def inputs(self, count: int) -> list[list[int]]:
        """Mostly a source each; else unions, also of a source with itself."""
        if self.family == "flood":
            return [[0, 1]] if self.often(0.3) else [[0]]
        if not self.often(0.35):
            return [[index] for index in range(count)]
        sources = count + self.chance.choice([0, 1])
        inputs = [[index] for index in range(count)]
        for extra in range(count, sources):
            inputs[self.chance.randrange(count)].append(extra)
        if self.often(0.4) and not self.has_late_timers:
            united = self.chance.choice(inputs)
            united.append(united[0])
        return inputs

    def source(self, scripts: list[Script], comes_twice: bool) -> Job:
        """One that comes twice puts one element per step on its two channels: Flink leaves open which is read first."""
        functions = ["map", "filter"] if comes_twice or self.has_late_timers else ["map", "filter", "flat_map"]
        before = self.functions(functions, self.chance.choice([0, 0, 0, 1, 2]))
        if self.family == "flood":
            return {"scripts": scripts, "strategy": None, "via": "function", "before": [], "legacy": self.often(0.4)}
        strategy = self.strategy(scripts) if not comes_twice and self.often(0.6 if self.manual_time else 0.35) else None
        via = "function" if strategy is None or self.often(0.5) else "source"
        if strategy is not None and strategy["kind"] in PERIODIC and via == "function":
            self.interval_ms = self.period_ms - 1  # its timers fire 1 ms after their time
        # What splits say together comes out periodically whatever their strategy.
        if via == "source" and self.often(0.6) and (not self.manual_time or strategy["kind"] in PERIODIC):
            for script in scripts:
                split_up(self.chance, script)
        return {
            "scripts": scripts, "strategy": strategy, "via": via, "before": before, "legacy": self.often(0.4),
        }  # fmt: skip

    def strategy(self, scripts: list[Script]) -> Job | None:
        """Periodic in one subtask only: two timers of the same time may fire in either order."""
        is_periodic = self.may_be_periodic and len(scripts) == 1 and self.often(0.8)
        if self.has_late_timers and not is_periodic:
            return None
        kinds = PERIODIC if is_periodic else ["per_record", "punctuated"]
        strategy = {"kind": self.chance.choice(kinds), "bound_ms": self.chance.choice([0, 3, 8])}
        strategy["shift_ms"] = self.chance.choice([0, 0, 5])
        if is_periodic:
            self.may_be_periodic = False
            if self.often(0.6):
                strategy["idle_ms"] = self.chance.choice([130, 250, 400])
        return strategy

    @property
    def is_tagged(self) -> bool:
        """Whether windows hold records of two streams: what looks into them would see Java's tag or ours."""
        return self.family in ("window_join", "co_group")

    def event(self) -> list[Any]:
        self.next_number += 1
        return [self.next_number, self.chance.choice(self.keys), self.chance.randint(-20, 60)]

    def orders(self, now: int, step: int) -> list[int]:
        chance = self.chance
        if self.family == "state":
            return [chance.randint(1, 11) for _ in range(chance.randint(0, 4))]
        if self.family not in USE_ORDERS:
            return [0] * chance.randint(0, self.padding) if self.padding else []
        orders: list[int] = []
        for _ in range(chance.choice([0, 1, 1, 2, 3])):
            if self.manual_time and self.often(0.5):
                # After this step, so that no timer is due at once, and between two steps.
                due = START_MS + GAP_MS * chance.randint(step + 1, step + 7) + chance.randint(10, 80)
                due += due % 2
                orders += [3 if self.often(0.8) else 4, due]
            else:
                orders += [1 if self.often(0.8) else 2, now + chance.randint(-6, 15)]
        return orders

    # The operator.

    def body(self) -> Job:
        chance, family = self.chance, self.family
        match family:
            case "pass":
                return {"kind": family, "keyed": self.often(0.6)}
            case "exchange" | "flood":
                return {"kind": "pass", "keyed": family == "flood" and self.often(0.3)}
            case "timers" | "state" | "keyed_co_process" | "broadcast" | "keyed_broadcast":
                return {"kind": family}
            case "reduce":
                how = chance.choice(["reduce", "sum", "min", "max", "min_by", "max_by"])
                return {"kind": family, "how": how, "first": self.often(0.5)}
            case "co_map" | "co_flat_map":
                return {"kind": family, "keyed": self.often(0.5)}
            case "co_process":
                return {"kind": family, "keyed": False}
            case "interval_join":
                return self.interval_join()
            case "window_join" | "co_group":
                return {"kind": family, **self.windows(chance.choice(["tumbling", "sliding", "session"]))}
        return self.window()

    def interval_join(self) -> Job:
        lower = self.chance.choice([-5, -2, 0, 1])
        upper = lower + self.chance.choice([0, 3, 6, 15])
        return {
            "kind": "interval_join", "lower_ms": lower, "upper_ms": upper,
            "lower_exclusive": upper - lower > 2 and self.often(0.3),
            "upper_exclusive": upper - lower > 2 and self.often(0.3),
            "late_left": self.often(0.5), "late_right": self.often(0.5),
        }  # fmt: skip

    def window(self) -> Job:
        settings = self.windows(self.family)
        functions = ["process", "process", "apply", "reduce", "reduce_process", "aggregate", "aggregate_process"]
        is_session = "session" in settings["assigner"]["kind"]
        return {
            "kind": "window", **settings,
            "all": self.often(0.15),
            "late_output": self.often(0.6),
            "function": self.chance.choice(functions),
            "states": not is_session and self.often(0.5),
        }  # fmt: skip

    def windows(self, shape: str) -> Job:
        """Assigner, trigger, evictor and lateness."""
        assigner = self.assigner(shape)
        trigger = self.trigger(assigner["kind"]) if self.often(0.4) or assigner["kind"] == "global" else None
        if assigner["kind"] == "count":
            trigger = None
        can_evict = assigner["kind"] != "count" or "slide" not in assigner
        return {
            "assigner": assigner,
            "trigger": trigger,
            "evictor": self.evictor() if can_evict and self.often(0.2) else None,
            "lateness_ms": self.chance.choice([0, 0, 5, 15]) if "event_time" in assigner["kind"] else 0,
        }

    def assigner(self, shape: str) -> Job:
        chance = self.chance
        match shape:
            case "tumbling":
                size = chance.choice([5, 10, 20])
                return {"kind": "tumbling_event_time", "size_ms": size, "stagger": self.stagger(),
                        "offset_ms": chance.choice([0, 0, chance.randint(1 - size, size - 1)])}  # fmt: skip
            case "sliding":
                slide = chance.choice([3, 5, 8])
                size = chance.choice([1, slide - 1, slide, slide + 1, 2 * slide, 3 * slide, 3 * slide + 1])
                return {"kind": "sliding_event_time", "size_ms": size, "slide_ms": slide,
                        "offset_ms": chance.choice([0, 0, chance.randint(1 - slide, slide - 1)])}  # fmt: skip
            case "session":
                if self.often(0.3) and not self.is_tagged:
                    return {"kind": "dynamic_session_event_time"}
                return {"kind": "session_event_time", "gap_ms": chance.choice([1, 2, 4, 8])}
            case "count":
                described = {"kind": "count", "size": chance.choice([1, 2, 3, 5])}
                return described | ({"slide": chance.choice([1, 2, 4])} if self.often(0.5) else {})
            case "global":
                return {"kind": "global", "end_of_stream": self.often(0.3)}
        return self.processing_time_assigner()

    def processing_time_assigner(self) -> Job:
        chance = self.chance
        shape = chance.choice(["tumbling", "sliding", "session"])
        period = chance.choice([100, 130, 150, 250])
        offset = chance.choice([number for number in (1, 31, 45, -29) if not meets_a_step(period, number)])
        match shape:
            case "tumbling":
                return {
                    "kind": "tumbling_processing_time",
                    "size_ms": period,
                    "stagger": "aligned",
                    "offset_ms": offset,
                }
            case "sliding":
                size = period * chance.choice([1, 2, 3])
                return {"kind": "sliding_processing_time", "size_ms": size, "slide_ms": period, "offset_ms": offset}
            case _:
                self.may_be_periodic = False
                if self.often(0.3):
                    return {"kind": "dynamic_session_processing_time"}
                return {"kind": "session_processing_time", "gap_ms": chance.choice([50, 120, 230])}

    def stagger(self) -> str:
        """Natural stagger goes by the processing time of the first record of a subtask, random is random."""
        is_natural = self.manual_time and self.often(0.25)
        self.may_be_periodic = self.may_be_periodic and not is_natural
        return "natural" if is_natural else "aligned"

    def trigger(self, assigner: str) -> Job:
        chance = self.chance
        kinds = ["count", "count", "purging"]
        if self.family not in (
            "window_join",
            "co_group",
        ):  # there records are tagged, ours and theirs in different ways
            kinds += ["delta", "custom"]
        if assigner != "global":
            kinds += ["processing_time" if "processing_time" in assigner else "event_time"]
        if "event_time" in assigner:
            kinds += ["continuous_event_time"] * 2
        if "session" in assigner and "delta" in kinds:
            kinds.remove("delta")
        if self.manual_time:
            kinds += ["continuous_processing_time"]
            if "session" not in assigner:
                kinds += ["timeout"]
        match chance.choice(kinds):
            case "count":
                return {"kind": "count", "count": chance.choice([1, 2, 3, 5])}
            case "purging":
                return {"kind": "purging", "of": self.trigger(assigner)}
            case "delta":
                return {"kind": "delta", "threshold": chance.choice([0.0, 10.0, 25.5])}
            case "continuous_event_time":
                return {"kind": "continuous_event_time", "interval_ms": chance.choice([2, 5, 7])}
            case "continuous_processing_time":
                return {"kind": "continuous_processing_time", "interval_ms": chance.choice(INTERVALS)}
            case "timeout":
                self.may_be_periodic = False
                return {"kind": "timeout", "of": self.trigger(assigner), "interval_ms": chance.choice([120, 250]),
                        "reset_on_element": self.often(0.5), "clear_on_timeout": self.often(0.5)}  # fmt: skip
            case kind:
                return {"kind": kind}

    def evictor(self) -> Job:
        after = self.often(0.4)
        kinds = ["count", "time"] if self.is_tagged else ["count", "time", "delta"]
        match self.chance.choice(kinds):
            case "count":
                return {"kind": "count", "count": self.chance.choice([1, 2, 3]), "after": after}
            case "time":
                return {"kind": "time", "window_ms": self.chance.choice([1, 4, 10]), "after": after}
            case _:
                return {"kind": "delta", "threshold": self.chance.choice([5.0, 20.0]), "after": after}
