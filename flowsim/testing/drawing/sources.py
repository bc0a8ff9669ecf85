"""Draws sources: scripts in steps or with pauses, their splits and idleness, and watermark strategies."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from flowsim.testing.drawing.draft import FIELDS, GAP_MS, Block, Draft, Stream, ms
from flowsim.testing.drawing.orders import python, taken

PERIODS_MS: Final = (90, 110, 130, 150, 170, 250)
"""Of periodic watermarks in determined scenarios: longer than the number of steps, so that none meets a step."""
_KEYS: Final = "abcdefgh"
Script = list[Block]


class _SourceDraft:
    """One source with a script for each subtask."""

    def __init__(self, draft: Draft, name: str) -> None:
        choices = draft.choices
        self.name = name
        self.is_dynamic = choices.often(8)
        self.scripts: list[Script] = [[] for _ in range(draft.width())]
        self.watermarks = [-(2**62)] * len(self.scripts)
        self.has_timestamps = draft.family not in ("plain", "async") or choices.often(60)
        has_strategy = self.has_timestamps and choices.often(45)
        self.strategy: Block | None = {} if has_strategy else None
        self.is_legacy = not self.is_dynamic and choices.often(10) and (len(self.scripts) == 1 or not has_strategy)
        names = ["p0", "p1"] if choices.often(70) else ["p0", "p1", "p2"]
        has_splits = has_strategy and not (self.is_dynamic or self.is_legacy) and choices.often(40)
        self.splits: list[list[str]] = [list(names) if has_splits else [] for _ in self.scripts]
        """The splits of each subtask that have not ended."""
        self.idles = choices.one_of([0, 0, 5, 15]) if not (has_strategy and self.is_legacy) else 0
        self.timed = [False] * len(self.scripts)
        """The subtasks with a record that has a timestamp."""
        self.ahead = choices.one_of([0, 0, 3, 12])
        """How far its event time is ahead of that of others, in ms."""
        self.is_in_time = not draft.is_determined and choices.often(40)
        """Whether no record is late, so that windows do not depend on the schedule."""
        if self.is_in_time:
            self.idles = 0


def add_sources(draft: Draft) -> None:
    """Adds one or more sources, whose scripts share the steps."""
    choices = draft.choices
    if choices.often(10):
        draft.fields = {**FIELDS, "i": "int"}
    count = choices.one_of([count for count in (1, 1, 2, 3) if count <= draft.sizes.sources])
    drafts = [_SourceDraft(draft, f"s{number}") for number in range(count)]
    if draft.is_determined and (len(drafts) > 1 or len(drafts[0].scripts) > 1):
        for source in drafts:
            source.is_dynamic = False  # the steps of a script that is assigned at run time start when it is assigned
    if any(source.strategy is not None for source in drafts):
        draft.settings["auto_watermark_interval"] = ms(
            choices.one_of(PERIODS_MS if draft.is_determined else [10, 25, 200])
        )
    # With steps, records come between checkpoints, too.
    is_paced = not draft.is_determined and draft.family in ("checkpoints", "unaligned") and choices.often(60)
    gap_ms = choices.one_of([5, 1, 20]) if is_paced else 0
    disorder_ms = _play(draft, drafts, has_steps=draft.is_determined or is_paced)
    periodic = True
    aligned = choices.often(12) and not any(source.is_legacy for source in drafts)
    for source in drafts:
        if source.strategy is not None:
            may_be_periodic = not draft.is_determined or (periodic and len(source.scripts) == 1)
            source.strategy = _strategy(draft, source, disorder_ms, may_be_periodic=may_be_periodic, aligned=aligned)
            periodic = periodic and source.strategy.get("emit") != "periodic"
    if not draft.is_determined and draft.wants("idle and then out of order", 12):
        _let_rest(draft, drafts)
    for source in drafts:
        script: dict[str, object] = {"fields": dict(draft.fields)}
        if draft.is_determined:
            script["gap"] = ms(GAP_MS)
        elif gap_ms:
            script["gap"] = ms(gap_ms)
        width = len(source.scripts)
        block: Block = {"script": script}
        if source.is_dynamic:
            script["assignment"] = "dynamic"
            width = 1 if draft.is_determined else draft.width()
            block["parallelism"] = width
        script["subtasks"] = source.scripts
        if source.strategy is not None:
            block["watermarks"] = source.strategy
        if source.is_legacy:
            block["legacy"] = True
        stream = Stream(
            source.name, draft.fields, width, frozenset([source.name]), source.has_timestamps, is_single=width == 1
        )
        draft.add_source(block, stream)
    if draft.is_determined or len(drafts) >= draft.sizes.sources:
        return
    if choices.often(15):
        _add_other(draft, f"s{len(drafts)}")
    elif len(drafts) + 1 < draft.sizes.sources and choices.often(12):
        _add_aligned_pair(draft)


def _add_aligned_pair(draft: Draft) -> None:
    """Adds two sources of one group: one waits for the other, which lags, and goes on when the other is idle."""
    choices = draft.choices
    alignment = {"group": "pair", "max_drift": ms(choices.one_of([20, 10, 30])), "interval": "10 ms"}
    strategy: Block = {"timestamp": "timestamp", "max_out_of_orderness": "3 ms", "emit": "periodic"}
    strategy |= {"idle_after": ms(choices.one_of([40, 60])), "alignment": alignment}
    split: Block = {"split": "p"} if choices.often(50) else {}
    draft.settings["auto_watermark_interval"] = "10 ms"
    for name, (gap_ms, pace_ms, count) in {"ahead": (5, 20, 10), "behind": (30, 2, 6)}.items():
        script: Script = []
        for number in range(choices.integer(count - 2, count)):
            entry: Block = {"record": [number, "abc"[number % 3], number], "timestamp": number * pace_ms, **split}
            script += [{"sleep": ms(gap_ms)}, entry]
        if name == "behind":
            script.insert(-1, {"sleep": "2 s"})
        block: Block = {"script": {"fields": dict(FIELDS), "subtasks": [script]}, "watermarks": dict(strategy)}
        draft.add_source(block, Stream(name, FIELDS, 1, frozenset([name]), is_single=True))
    ahead = taken(draft, next(stream for stream in draft.streams if stream.name == "ahead"))
    process = python("Punctual", fields=dict(FIELDS))
    block = {"input": draft.read(ahead), "parallelism": 1, "process": process}
    draft.add_operator(block, replace(ahead, name=draft.next_name()))
    taken(draft, draft.streams[-1])


def _add_other(draft: Draft, name: str) -> None:
    """Adds a source that is no script: rows, a generator, or a log with partitions."""
    choices = draft.choices
    width = choices.one_of([1, 2])
    fields: Block = {"id": {"sequence": {}}, "k": {"choice": {"values": ["a", "b", "c"]}}}
    fields["n"] = {"uniform": {"low": -9, "high": 60}}
    time = "id * 3 - n % 5"
    match choices.one_of(["collection", "generator", "partitioned_generator"]):
        case "collection":
            width = 1
            rows = [[number, "abc"[number % 3], number * 7 % 50] for number in range(choices.integer(1, 12))]
            block: Block = {"collection": {"fields": dict(FIELDS), "rows": rows}}
        case "generator":
            generated: Block = {
                "count": choices.integer(1, 20),
                "pace": ms(choices.one_of([1, 5, 20])),
                "fields": fields,
            }
            block = {"generator": generated, "parallelism": width}
        case _:
            parts = [{"rate": 100 * number, "records": choices.integer(2, 9), "start_lag": number} for number in (1, 2)]
            log: Block = {"partitions": parts, "fields": fields}
            if choices.often(30):
                log["partitions"] = [*parts, {"rate": 100, "records": choices.integer(1, 5), "from": ms(30)}]
                log["discovery_interval"] = ms(choices.one_of([20, 50]))
            block = {"partitioned_generator": log, "parallelism": width}
            time = "timestamp"
    strategy: Block = {"timestamp": time, "max_out_of_orderness": ms(choices.one_of([8, 0, 100]))}
    strategy["emit"] = choices.one_of(["periodic", "every_record"])
    block["watermarks"] = strategy
    if "generator" in block and choices.often(40):
        block["legacy"] = True
    draft.settings.setdefault("auto_watermark_interval", ms(choices.one_of([10, 25, 200])))
    draft.has_others = True
    draft.add_source(block, Stream(name, FIELDS, width, frozenset([name]), is_single=width == 1))


def _play(draft: Draft, sources: Sequence[_SourceDraft], *, has_steps: bool) -> int:
    """Writes the entries of all scripts in one order, and an end of each; returns their greatest disorder in ms."""
    choices = draft.choices
    places = [(source, subtask) for source in sources for subtask in range(len(source.scripts))]
    now_ms, number, pace_ms = choices.one_of([0, 0, -40, 1_000_000]), 0, choices.one_of([4, 1, 9])
    draft.is_ahead = now_ms > 0
    disorder_ms = choices.one_of([0, 4, 12, 25])
    step = -1

    def play() -> None:
        nonlocal now_ms, number, step
        source, subtask = choices.one_of(places)
        now_ms += choices.integer(0, pace_ms)
        step += 1
        entry = _entry(draft, source, subtask, now_ms + source.ahead, disorder_ms, number)
        number += 1
        if entry is None:
            return
        if has_steps and "sleep" not in entry:
            entry["step"] = step
        source.scripts[subtask].append(entry)

    choices.some(play, 1, draft.sizes.steps)
    if draft.is_determined:
        for source, subtask in places:
            step += 1
            source.scripts[subtask].append({"end": True, "step": step})
        draft.steps = step
    return disorder_ms


def _entry(
    draft: Draft, source: _SourceDraft, subtask: int, now_ms: int, disorder_ms: int, number: int
) -> Block | None:
    choices = draft.choices
    splits = source.splits[subtask]
    split = choices.one_of(splits) if splits else None
    of_split: Block = {} if split is None else {"split": split}
    if len(splits) > 1 and choices.often(6):
        splits.remove(split)  # type: ignore[arg-type]  # one of them
        return {"end": True, **of_split}
    drawn = choices.integer(0, 99)
    if drawn >= 100 - source.idles:
        return {"idle": True, **of_split}
    if source.strategy is None and source.has_timestamps and drawn >= 55:
        watermark = now_ms - choices.one_of(
            [disorder_ms + 1] if source.is_in_time else [0, 1, disorder_ms // 2, disorder_ms + 1]
        )
        if watermark <= source.watermarks[subtask]:
            return None
        source.watermarks[subtask] = watermark
        return {"watermark": watermark}
    if not draft.is_determined and drawn >= 40 and choices.often(30):
        return {"sleep": ms(choices.one_of([1, 5, 20, 120, 300]))}
    record: Block = {"record": [number, choices.one_of(_KEYS[: choices.one_of([3, 1, 8])]), choices.integer(-9, 60)]}
    if "i" in draft.fields:
        record["record"] = [*record["record"], number % 4]  # type: ignore[misc]  # a list
    # A record without a timestamp has that of the one before.
    if source.has_timestamps and not (source.timed[subtask] and choices.often(5)):
        record["timestamp"] = now_ms - choices.integer(0, disorder_ms)
        source.timed[subtask] = not (source.is_dynamic or any(source.splits))
    return {**record, **of_split}


def _let_rest(draft: Draft, sources: Sequence[_SourceDraft]) -> None:
    """Lets a split become idle before a record that is older than one before it."""
    choices = draft.choices
    places = []
    for source in sources:
        for script in source.scripts if source.has_timestamps and not (source.strategy and source.is_legacy) else ():
            stamped = [index for index, entry in enumerate(script) if "timestamp" in entry]
            places += [(script, before, index) for before, index in itertools.pairwise(stamped)
                       if script[before].get("split") == script[index].get("split")]  # fmt: skip
    if not places:
        return
    script, before, index = choices.one_of(places)
    script[index]["timestamp"] = int(str(script[before]["timestamp"])) - choices.integer(1, 20)
    split = {"split": script[index]["split"]} if "split" in script[index] else {}
    script[index:index] = [{"idle": True, **split}, {"sleep": ms(choices.one_of([5, 30, 60]))}]


def _strategy(draft: Draft, source: _SourceDraft, disorder_ms: int, *, may_be_periodic: bool, aligned: bool) -> Block:
    choices = draft.choices
    strategy: Block = {"timestamp": choices.one_of(["timestamp", "timestamp", "timestamp + 5"])}
    bound_ms = disorder_ms if source.is_in_time else choices.one_of([0, 3, 8])
    if bound_ms:
        strategy["max_out_of_orderness"] = ms(bound_ms)
    kind = choices.one_of([*["periodic"] * 3 * may_be_periodic, "every_record", "punctuated"])
    if kind == "punctuated":
        strategy["punctuated"] = "n % 2 == 0"
    else:
        strategy["emit"] = kind
    if aligned:
        interval_ms = choices.one_of(PERIODS_MS if draft.is_determined else [10, 25])
        drift_ms = choices.one_of([30, 5, 100])
        strategy["alignment"] = {"group": "aligned", "max_drift": ms(drift_ms), "interval": ms(interval_ms)}
    # Rule 8.24: a split that alignment pauses just before it becomes idle waits for ever.
    percent = 80 if any(source.splits) and not draft.is_determined else 40
    if kind == "periodic" and choices.often(percent) and not (aligned and any(source.splits)):
        strategy["idle_after"] = ms(choices.one_of([130, 250, 400] if draft.is_determined else [15, 40, 250]))
    return strategy


def lengthen(draft: Draft, rest_ms: int) -> None:
    """Lets every script pause before its end, so that what waits for processing time is done before."""
    for block in draft.sources.values():
        script = block.get("script", {"subtasks": []})
        assert isinstance(script, dict)
        for entries in script["subtasks"]:
            ends = entries and entries[-1].get("end") is True and "split" not in entries[-1]
            entries.insert(len(entries) - 1 if ends else len(entries), {"sleep": ms(rest_ms)})
