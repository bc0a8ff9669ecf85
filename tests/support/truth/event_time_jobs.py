"""Random small scenarios about event time: strategies, splits, idleness, alignment, files, restarts, joins and windows.

Each record has its timestamp, a key, and the name of its split or file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Final

_WINDOWS: Final = (
    "{tumbling: 20 ms}",
    "{tumbling: 50 ms, allowed_lateness: 15 ms, late_output: late}",
    "{tumbling: 20 ms, late_output: late}",
    "{sliding: {size: 40 ms, slide: 20 ms}}",
    "{sliding: {size: 10 ms, slide: 25 ms}}",
    "{session: 15 ms}",
    "{tumbling: 40 ms, trigger: {count: 3}}",
    "{tumbling: 60 ms, trigger: {continuous_event_time: 15 ms}}",
    "{tumbling: 40 ms, trigger: {continuous_processing_time: 30 ms}}",
    "{tumbling: 60 ms, time: processing}",
    "{tumbling: 30 ms, offset: 7 ms, allowed_lateness: 10 ms, late_output: late}",
    "{sliding: {size: 40 ms, slide: 20 ms}, offset: -5 ms}",
    "{tumbling: 40 ms, trigger: {timeout: {of: event_time, after: 60 ms}}}",
    "{tumbling: 40 ms, trigger: end_of_stream}",
    "{tumbling: 40 ms, trigger: end_of_stream, allowed_lateness: 10 ms}",
    "{global_window: true, trigger: end_of_stream}",
    "{count: 3}",
    "{session: 60 ms, time: processing}",
    "{global_window: true, trigger: {delta: {of: at_ms, threshold: 20}}}",
    "{global_window: true, trigger: {any_of: [{purging: {count: 4}}, never]}}",
)
_NARROW: Final = "segment_size: 64 B, max_buffers_per_channel: 2, overdraft_buffers: 0, floating_buffers_per_gate: 1"
_FIELDS: Final = "{at_ms: long, k: string, s: string}"


def write_scenario(seed: int, folder: Path) -> Path:
    """Writes the scenario of a seed with its files; the kind goes round."""
    folder.mkdir(parents=True, exist_ok=True)
    random = Random(seed)
    path = folder / "job.yaml"
    path.write_text(SHAPES[seed % len(SHAPES)](random, folder))
    return path


def _settings(random: Random, *more: str) -> str:
    parts = [
        "record: full",
        f"auto_watermark_interval: {random.choice(['20 ms', '50 ms', '50 ms', '200 ms', '0'])}",
        f"buffer_timeout: {random.choice(['0', '0', '10 ms'])}",
        *more,
    ]
    return f"settings: {{{', '.join(parts)}}}"


def _strategy(random: Random, *more: str) -> str:
    parts = ["timestamp: at_ms"]
    if random.random() < 0.5:
        parts.append("emit: every_record")
    if random.random() < 0.5:
        parts.append(f"max_out_of_orderness: {random.choice([5, 20])} ms")
    if random.random() < 0.6:
        parts.append(f"idle_after: {random.choice([30, 100, 250])} ms")
    return f"watermarks: {{{', '.join([*parts, *more])}}}"


def _entries(random: Random, splits: Sequence[str], count: int, marks: bool = False) -> str:
    newest, entries = 0, []
    for _ in range(count):
        draw = random.random()
        if draw < 0.25:
            entries.append(f"{{sleep: {random.choice([5, 40, 40, 120, 300])} ms}}")
        elif draw < 0.5 and marks:
            entries.append(random.choice([f"{{watermark: {newest + random.choice([-5, 0, 20])}}}", "{idle: true}"]))
        elif draw < 0.28 and not marks:
            entries.append(f"{{idle: true{_of(random.choice(splits))}}}")
        elif draw < 0.31 and not marks and len(splits) > 1:
            gone, *splits = splits
            entries.append(f"{{end: true{_of(gone)}}}")
        else:
            split = random.choice(splits)
            timestamp = max(0, newest + random.choice([-40, -15, -3, 1, 5, 5, 10, 30]))
            newest = max(newest, timestamp)
            time = f", timestamp: {timestamp}" if marks else ""
            entries.append(f"{{record: [{timestamp}, {random.choice('ab')}, {split!r}]{time}{_of(split)}}}")
    entries.append(f"{{sleep: {random.choice([1, 400])} ms}}")
    return f"[{', '.join(entries)}]"


def _of(split: str) -> str:
    return "" if split == "-" else f", split: {split}"


def _script(random: Random, name: str, strategy: str, marks: bool = False) -> str:
    subtasks = []
    splits = random.choice([("-",), ("-",), ("p", "q"), ("p", "q", "r")]) if not marks else ("-",)
    for _ in range(random.choice([1, 1, 2])):
        count = random.choice([8, 14, 20] if marks else [3, 8, 14])
        subtasks.append(_entries(random, splits, count, marks))
    script = f"script: {{fields: {_FIELDS}, gap: 5 ms, subtasks: [{', '.join(subtasks)}]}}"
    return f"  {name}:\n    {script}\n" + (f"    {strategy}\n" if strategy else "")


def _counted(random: Random, given: str, windows: Sequence[str] = _WINDOWS) -> str:
    with_late_output = [window for window in windows if "late_output" in window]
    window = random.choice(with_late_output if with_late_output and random.random() < 0.3 else windows)
    late = "  late: {input: counts.late, collect: {}}\n" if "late_output" in window else ""
    parallelism = random.choice([1, 1, 2])
    counts = f"  counts: {{input: {given}, key_by: k, parallelism: {parallelism}, window: {window}, aggregate: {{n: count()}}}}\n"
    if random.random() < 0.2:
        counts += f"  others: {{input: {given}, key_by: k, window: {{tumbling: 30 ms}}, aggregate: {{n: count()}}}}\n"
        late += "  others_out: {input: others, collect: {}}\n"
    return f"{counts}sinks:\n  out: {{input: counts, collect: {{}}}}\n{late}"


def _end(random: Random) -> str:
    if random.random() < 0.7:
        return ""
    return f"actions: [{{stop: {{at: {random.choice([60, 200])} ms, drain: {str(random.random() < 0.3).lower()}}}}}]\n"


def _sources(random: Random, folder: Path) -> str:
    names = ["one", "two", "three"][: random.choice([1, 2, 2, 3])]
    scripts = "".join(_script(random, name, _strategy(random)) for name in names)
    head = f"flowsim: 1\nname: sources\n{_settings(random)}\nsources:\n"
    given = f"[{', '.join(names)}]"
    return f"{head}{scripts}operators:\n{_counted(random, given)}{_end(random)}"


def _stamped(random: Random, folder: Path) -> str:
    partition = random.choice(["", ", partition: rebalance", ", partition: rebalance, parallelism: 2"])
    mapped = random.choice(["", "  kept: {input: one, filter: \"k == 'a'\"}\n"])
    given = "kept" if mapped else "one"
    operators = f"{mapped}  stamped: {{input: {given}{partition}, {_strategy(random)}}}\n"
    head = f"flowsim: 1\nname: stamped\n{_settings(random)}\nsources:\n{_script(random, 'one', '')}"
    return f"{head}operators:\n{operators}{_counted(random, 'stamped')}{_end(random)}"


def _joined(random: Random, folder: Path) -> str:
    scripts = "".join(_script(random, name, _strategy(random)) for name in ("left", "right"))
    late = random.choice(["", ", late_left: late", ", late_right: late"])
    join = (
        f"{{to: right, key_by: [k, k], lower: -10 ms, upper: 10 ms, select: {{l: left.at_ms, r: right.at_ms}}{late}}}"
    )
    sinks = "sinks:\n  out: {input: joined, collect: {}}\n" + (
        "  late: {input: joined.late, collect: {}}\n" if late else ""
    )
    head = f"flowsim: 1\nname: joined\n{_settings(random)}\nsources:\n{scripts}"
    return f"{head}operators:\n  joined: {{input: left, interval_join: {join}}}\n{sinks}{_end(random)}"


def _windowed_join(random: Random, folder: Path) -> str:
    """Windows of two streams, one of which is often ahead or silent."""
    scripts = "".join(_script(random, name, _strategy(random)) for name in ("left", "right"))
    window = random.choice(
        ["{tumbling: 20 ms}", "{sliding: {size: 40 ms, slide: 20 ms}}", "{tumbling: 30 ms, allowed_lateness: 10 ms}"]
    )
    to = f"to: right, key_by: [k, k], window: {window}"
    kind = random.choice(
        [
            f"join: {{{to}, select: {{l: left.at_ms, r: right.at_ms}}}}",
            f"co_group: {{{to}, left: {{n: count()}}, right: {{m: count()}}}}",
        ]
    )
    head = f"flowsim: 1\nname: windowed-join\n{_settings(random)}\nsources:\n{scripts}"
    return f"{head}operators:\n  joined: {{input: left, {kind}}}\nsinks:\n  out: {{input: joined, collect: {{}}}}\n{_end(random)}"


def _files(random: Random, folder: Path) -> str:
    files = random.choice([1, 2, 3, 4])
    for number in range(files):
        newest = random.choice([0, 20])
        lines = ["at_ms,k,s"]
        for _ in range(random.choice([1, 4, 8])):
            newest = max(0, newest + random.choice([-15, 1, 10, 40]))
            lines.append(f"{newest},{random.choice('ab')},f{number}.csv")
        (folder / f"f{number}.csv").write_text("\n".join(lines) + "\n")
    assignment = random.choice(["", ", assignment: dynamic"])
    parallelism = random.choice([1, 1, 2]) if files > 1 else 1
    source = f"csv: {{path: 'f*.csv', columns: {_FIELDS}{assignment}}}\n    parallelism: {parallelism}\n    cost: 3 ms"
    head = f"flowsim: 1\nname: files\n{_settings(random)}\nsources:\n  one:\n    {source}\n    {_strategy(random)}\n"
    return f"{head}operators:\n{_counted(random, 'one')}"


def _aligned(random: Random, folder: Path) -> str:
    group = f"alignment: {{group: g, max_drift: {random.choice([0, 20])} ms, interval: {random.choice([20, 60])} ms}}"
    fast = ", ".join(f"{{record: [{10 * number}, a, '-']}}, {{sleep: 5 ms}}" for number in range(60))
    script = f"    script: {{fields: {_FIELDS}, gap: 5 ms, subtasks: [[{fast}]]}}\n"
    sources = f"  fast:\n{script}    {_strategy(random, group)}\n"
    slow = ", ".join(f"{{record: [{3 * number}, b, '-']}}, {{sleep: 60 ms}}" for number in range(8))
    script = f"    script: {{fields: {_FIELDS}, gap: 5 ms, subtasks: [[{slow}]]}}\n"
    sources += f"  slow:\n{script}    {_strategy(random, group)}\n"
    head = f"flowsim: 1\nname: aligned\n{_settings(random)}\nsources:\n{sources}"
    return f"{head}operators:\n{_counted(random, '[fast, slow]')}{_end(random)}"


def _restarts(random: Random, folder: Path) -> str:
    names = random.choice([("one",), ("one", "two")])
    scripts = "".join(_script(random, name, _strategy(random)) for name in names)
    more = f"checkpointing: {{interval: {random.choice([30, 90])} ms}}"
    more += ", restart_strategy: {fixed_delay: {delay: 20 ms, attempts: 3}}"
    task = random.choice([*names, "counts"])
    failures = f"failures: [{{fail_task: {{task: {task}, at: {random.choice([40, 110, 250])} ms}}}}]\n"
    head = f"flowsim: 1\nname: restarts\n{_settings(random, more)}\nsources:\n{scripts}"
    given = f"[{', '.join(names)}]"
    return f"{head}operators:\n{_counted(random, given)}{failures}"


def _own(random: Random, folder: Path) -> str:
    names = ("one", "two") if random.random() < 0.5 else ("one",)
    scripts = "".join(_script(random, name, "", True) for name in names)
    given, operators = f"[{', '.join(names)}]", ""
    if random.random() < 0.6:
        latency, select = random.choice(["10", "5 + at_ms * 13 % 90"]), "select: {at_ms: at_ms, k: k, s: s}"
        mode = random.choice(["ordered", "unordered"])
        operators = f"  asked: {{input: one, async: {{mode: {mode}, latency: {{each: {latency}}}, {select}}}}}\n"
        given = given.replace("one", "asked")
        if random.random() < 0.5:
            operators += "  slow: {input: asked, cost: 8 ms, chaining: never, partition: rebalance, "
            operators += "map: {select: {at_ms: at_ms, k: k, s: s}}}\n"
            given = given.replace("asked", "slow")
    head = f"flowsim: 1\nname: own\n{_settings(random)}\nsources:\n{scripts}"
    return f"{head}operators:\n{operators}{_counted(random, given)}{_end(random)}"


def _by_clock(random: Random, folder: Path) -> str:
    head = f"flowsim: 1\nname: clock\n{_settings(random)}\nsources:\n{_script(random, 'one', _strategy(random))}"
    return (
        f"{head}operators:\n{_counted(random, 'one', [one for one in _WINDOWS if 'processing' in one])}{_end(random)}"
    )


def _in_turn(random: Random, folder: Path) -> str:
    """Results of windows, some of them late, in other windows; while timers fire, the watermark is not forwarded."""
    source = _script(random, "one", _strategy(random))
    if random.random() < 0.5:
        rows = ", ".join(f"{{record: [{7 * number}, {'abcdef'[number % 6]}, '-']}}" for number in range(40))
        script = f"script: {{fields: {_FIELDS}, gap: 5 ms, subtasks: [[{rows}, {{sleep: 900 ms}}]]}}"
        source = f"  one:\n    {script}\n    {_strategy(random)}\n"
    head = f"flowsim: 1\nname: in-turn\n{_settings(random, _NARROW)}\nsources:\n"
    lateness = random.choice([0, 60, 200])
    first = f"{{tumbling: 10 ms, allowed_lateness: {lateness} ms}}"
    operators = f"  first: {{input: one, key_by: k, window: {first}, cost: 4 ms, aggregate: {{n: count()}}}}\n"
    end = _end(random)
    if random.random() > 0.6:
        source, operators = _behind(random)
    operators += "  counts: {input: first, key_by: k, cost: 8 ms, window: {tumbling: 20 ms}, aggregate: {n: count()}}\n"
    return f"{head}{source}operators:\n{operators}sinks: {{out: {{input: counts, collect: {{}}}}}}\n{end}"


def _behind(random: Random) -> tuple[str, str]:
    """A source out of order, and windows with an allowed lateness or alarms, whose results are behind the watermark."""
    times = [max(0, 15 * number - random.choice([0, 0, 20, 60])) for number in range(20)]
    rows = ", ".join(f"{{record: [{time}, {random.choice('ab')}, '-']}}" for time in times)
    script = f"script: {{fields: {_FIELDS}, gap: 5 ms, subtasks: [[{rows}]]}}"
    window = "window: {tumbling: 10 ms, allowed_lateness: 200 ms}, aggregate: {n: count()}"
    first = random.choice([window, "alarm: {after: 5 ms, emit: {k: k}}"])
    strategy = "watermarks: {timestamp: at_ms, emit: every_record}"
    return f"  one:\n    {script}\n    {strategy}\n", f"  first: {{input: one, key_by: k, {first}}}\n"


SHAPES: Final[tuple[Callable[[Random, Path], str], ...]] = (
    _sources, _stamped, _joined, _windowed_join, _files, _aligned, _restarts, _own, _by_clock, _in_turn,
)  # fmt: skip
