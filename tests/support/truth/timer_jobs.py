"""Random small scenarios with timers, windows of every trigger, keyed state, and restarts."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

_KEYS: Final = ("a", "b", "c")


def timer_scenario_of(seed: int) -> str:
    """The scenario of a seed; its kind goes round."""
    return TIMER_SHAPES[seed % len(TIMER_SHAPES)](Random(seed))


def _job(random: Random, name: str, source: str, operators: str) -> str:
    parts = ["record: full", "record_state: true", f"buffer_timeout: {random.choice(['0', '5 ms'])}"]
    ending, sink = "", ""
    if random.random() < 0.5:
        parts.append("interruptible_timers: true")
        # Timers that fire behind the end of the data (rule 9.18) would fail a sink in the same chain.
        sink = "chaining: never, "
    if random.random() < 0.6:
        kind = random.choice(["", ", unaligned: true"])
        parts.append(f"checkpointing: {{interval: {random.choice([10, 25])} ms{kind}}}")
        parts.append("restart_strategy: {fixed_delay: {delay: 5 ms, attempts: 4}}")
        tasks = random.choices(["tested", "events"], k=random.choice([1, 1, 2]))
        failures = [
            f"{{fail_task: {{task: {task}, attempt: {number}, at: {random.randint(3, 50)} ms}}}}"
            for number, task in enumerate(tasks)
        ]
        ending = f"failures: [{', '.join(failures)}]\n"
    elif random.random() < 0.4:
        ending = f"actions: [{{stop: {{at: {random.randint(3, 45)} ms, drain: {random.choice(['true', 'false'])}}}}}]\n"
    return f"""flowsim: 1
name: {name}
settings: {{{", ".join(parts)}}}
sources:
{source}operators:
{operators}sinks: {{out: {{input: tested, {sink}cost: {random.choice(["0", "0", "1 ms"])}, collect: {{}}}}}}
{ending}"""


def _script(random: Random, fields: str, record: Callable[[], str], count: int) -> str:
    """A source whose script emits records out of order, watermarks, and pauses."""
    entries = []
    for number in range(count):
        entries.append(f"{{record: [{record()}], timestamp: {max(0, number * 3 + random.randint(-25, 5))}}}")
        if random.random() < 0.3:
            entries.append(f"{{watermark: {max(0, number * 3 - random.choice([0, 4, 12]))}}}")
        if random.random() < 0.3:
            entries.append(f"{{sleep: {random.choice([1, 4, 11])} ms}}")
    if random.random() < 0.3:
        entries.append("{sleep: 40 ms}")
    marks, last = [], -1
    for entry in entries:
        if entry.startswith("{watermark"):
            value = int(entry.split(":")[1].strip(" }"))
            if value <= last:
                continue
            last = value
        marks.append(entry)
    return f"  events:\n    script:\n      fields: {fields}\n      subtasks: [[{', '.join(marks)}]]\n"


def _functions(random: Random) -> str:
    def record() -> str:
        action = random.choice(["event", "event", "clock", "drop", "move"])
        return f"{random.choice(_KEYS)}, {action}, {random.randint(0, 90)}"

    source = _script(random, "{key: string, action: string, at: long}", record, random.choice([12, 30]))
    function = "tests.support.truth.timer_functions:Timers"
    operator = f"  tested: {{input: events, key_by: key, process: {{python: {function!r}, fields: {{at: long}}}}}}\n"
    return _job(random, "functions", source, operator)


def _alarms(random: Random) -> str:
    def record() -> str:
        return f"{random.choice(_KEYS)}, {random.choice(['set', 'set', 'clear', 'other'])}"

    source = _script(random, "{key: string, what: string}", record, random.choice([12, 30]))
    time = random.choice(["event", "processing"])
    ttl = random.choice(["", "", "state_ttl: {ttl: 15 ms}, "])
    operator = (
        f"  tested: {{input: events, key_by: key, {ttl}alarm: {{when: what == 'set', cancel: what == 'clear', time: {time}, "
        f"after: {random.choice([1, 8, 30])} ms, renew: {random.choice(['true', 'false'])}, emit: {{key: key}}}}}}\n"
    )
    return _job(random, "alarms", source, operator)


def _reduces(random: Random) -> str:
    source = _script(random, "{key: string, n: long}", lambda: f"{random.choice(_KEYS)}, {random.randint(0, 9)}", 15)
    ttl = random.choice(["", "state_ttl: {ttl: 6 ms}, "])
    what = random.choice(["sum: n", "max: n", "reduce: {n: a.n + b.n}"])
    what = "sum: n" if what.startswith("reduce") else what
    return _job(random, "reduces", source, f"  tested: {{input: events, key_by: key, {ttl}{what}}}\n")


def _trigger(random: Random, merging: bool, event_time: bool, depth: int = 0) -> str:
    simple = ["{count: 2}", "{count: 3}"]
    simple += (
        ["event_time", "{continuous_event_time: 4 ms}"]
        if event_time
        else ["processing_time", "{continuous_processing_time: 4 ms}"]
    )
    if depth:
        return random.choice(simple)
    forms = [*simple, *simple, f"{{purging: {_trigger(random, merging, event_time, 1)}}}"]
    forms.append(
        f"{{any_of: [{_trigger(random, merging, event_time, 1)}, {_trigger(random, merging, event_time, 1)}]}}"
    )
    if not merging:
        forms.append(f"{{timeout: {{of: {_trigger(random, merging, event_time, 1)}, after: 6 ms}}}}")
    return random.choice(forms)


def _windows(random: Random) -> str:
    source = _script(
        random,
        "{key: string, n: long}",
        lambda: f"{random.choice(_KEYS)}, {random.randint(0, 9)}",
        random.choice([15, 30]),
    )
    shape = random.choice(
        [
            "tumbling: 10 ms",
            "sliding: {size: 10 ms, slide: 5 ms}",
            "session: 5 ms",
            "session: 4 ms",
            "global_window: true",
        ]
    )
    event_time = random.random() < 0.75 or shape.startswith("global")
    parts = [shape]
    if not event_time:
        parts.append("time: processing")
    merging, is_global = shape.startswith("session"), shape.startswith("global")
    if is_global:
        parts.append(f"trigger: {random.choice(['{count: 3}', '{purging: {count: 2}}', 'end_of_stream'])}")
    elif random.random() < 0.7:
        parts.append(f"trigger: {_trigger(random, merging, event_time)}")
    if event_time and not is_global and random.random() < 0.6:
        parts.append(f"allowed_lateness: {random.choice([3, 20])} ms")
    operator = f"  tested: {{input: events, key_by: key, window: {{{', '.join(parts)}}}, aggregate: {{n: count()}}}}\n"
    return _job(random, "windows", source, operator)


TIMER_SHAPES: Final[tuple[Callable[[Random], str], ...]] = (
    _functions, _windows, _alarms, _windows, _reduces, _windows, _functions, _windows,
)  # fmt: skip
