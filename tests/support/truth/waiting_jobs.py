"""Random small scenarios whose tasks wait in every way: for buffers, results, barriers, other tasks, and the end."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

NETWORKS: Final = (
    "segment_size: 64 B, max_buffers_per_channel: 2, overdraft_buffers: 0, floating_buffers_per_gate: 1",
    "segment_size: 256 B, max_buffers_per_channel: 3, overdraft_buffers: 5",
    "segment_size: 128 B, max_buffers_per_channel: 100, overdraft_buffers: 2",
    "segment_size: 64 B, exclusive_buffers_per_channel: 0, floating_buffers_per_gate: 1",
    "segment_size: 1 KiB",
)

RESTARTED: Final = ("slow", "numbers", "others", "other")


def scenario_of(seed: int) -> str:
    """The scenario of a seed; its kind goes round."""
    random = Random(seed)
    return SHAPES[seed % len(SHAPES)](random)


def _settings(random: Random, *more: str) -> str:
    budget, timeout = random.choice([1, 4, 4096]), random.choice(["0", "1 ms", "100 ms"])
    parts = ["record: full", random.choice(NETWORKS), f"budget_records: {budget}", f"buffer_timeout: {timeout}", *more]
    if random.random() < 0.3:
        parts.append("task_managers: one")
    return f"settings: {{{', '.join(parts)}}}"


def _checkpoints(random: Random) -> str:
    kind = random.choice(["", ", unaligned: true", ", unaligned: true, aligned_timeout: 5 ms", ", mode: at_least_once"])
    return f"checkpointing: {{interval: {random.choice([10, 20, 40])} ms{kind}}}"


def _numbers(name: str, count: int, pace: str, more: str = "") -> str:
    return (
        f"  {name}:\n    generator:\n      count: {count}\n      pace: {pace}\n"
        f"      fields:\n        n: {{sequence: {{start: {1000 * len(name)}}}}}\n"
        "        key: {choice: {values: [a, b, c]}}\n        at_ms: {event_time: {step: 10 ms}}\n"
        f"    watermarks: {{timestamp: at_ms{more}}}\n"
    )


def _pressure(random: Random) -> str:
    partition = random.choice(["rebalance", "broadcast", "hash", "global", "rescale"])
    link = ", links: [{from: explode, to: slow, latency: 3 ms, bandwidth: 8 KiB}]" if random.random() < 0.4 else ""
    memory = ", network_buffers: 24" if random.random() < 0.2 else ""
    where = "key_by: word" if partition == "hash" else f"partition: {partition}"
    idle = random.choice(["", ", idle_after: 30 ms"])
    return f"""flowsim: 1
name: pressure
{_settings(random)[:-1]}{link}{memory}}}
sources:
{_numbers("numbers", random.choice([10, 30]), random.choice(["10 us", "1 ms"]), idle)}operators:
  explode:
    input: numbers
    chaining: {random.choice(["always", "never"])}
    flat_map: {{each: "split('a b c d e f g h', ' ')", into: word}}
  slow:
    input: explode
    {where}
    parallelism: {random.choice([1, 2, 3])}
    cost: {random.choice(["200 us", "1 ms"])}
    map: {{add: {{m: word}}}}
sinks: {{out: {{input: slow, collect: {{}}}}}}
"""


def _async(random: Random) -> str:
    legacy = random.random() < 0.25
    retry = not legacy and random.random() < 0.4
    answer = (
        ""
        if legacy
        else random.choice(["on_timeout: nothing, ", "on_timeout: {add: {m: '-1'}}, ", "on_timeout: nothing, "])
    )
    timeout = "timeout: 30 ms, " if answer else "timeout: 10 s, " if retry else ""
    retries = "retry: {fixed: {max_attempts: 2, delay: 8 ms}}, fails: {first_attempts: 1}, " if retry else ""
    design = ", design: legacy" if legacy else ""
    entries = []
    for number in range(random.choice([3, 8, 12, 16])):
        entries += [f"{{record: [{number}], timestamp: {number}}}"] * random.choice([1, 1, 1, 2])
        if random.random() < 0.3:
            entries.append(random.choice([f"{{watermark: {number}}}", "{sleep: 15 ms}", "{sleep: 60 ms}"]))
    entries += ["{sleep: 300 ms}"] if random.random() < 0.6 else []
    # A call that never ends, beside periodic checkpoints, never ends the job either.
    checkpoints = [_checkpoints(random)] if random.random() < 0.5 and not (retry and answer) else []
    return f"""flowsim: 1
name: calls
{_settings(random, *checkpoints)}
sources:
  asks:
    legacy: {str(legacy and random.random() < 0.5).lower()}
    script: {{fields: {{n: long}}, subtasks: [[{", ".join(entries)}]]}}
operators:
  asked:
    input: asks
    chaining: {random.choice(["always", "head", "never"])}
    async:
      {{mode: {random.choice(["ordered", "unordered"])}, capacity: {random.choice([1, 2, 3, 20, 20])}, {timeout}{answer}{retries}
      latency: {{each: 5 + n * 13 % 50}}, add: {{m: n * 2}}{design}}}
sinks:
  out: {{input: asked, cost: {random.choice(["0", "5 ms"])}, chaining: {random.choice(["always", "never"])}, collect: {{}}}}
"""


def _aligned_sources(random: Random) -> str:
    group = ", alignment: {group: g, max_drift: 100 ms, interval: 20 ms}"
    idle = random.choice(["", ", idle_after: 50 ms"])
    return f"""flowsim: 1
name: aligned
{_settings(random, "auto_watermark_interval: 10 ms")}
sources:
{_numbers("live", 40, random.choice(["5 ms", "20 ms"]), group)}{_numbers("archive", 100, "2 ms", f"{group}{idle}")}operators:
  counts: {{input: [live, archive], key_by: key, window: {{tumbling: 100 ms}}, aggregate: {{c: count()}}}}
sinks: {{out: {{input: counts, collect: {{}}}}}}
"""


def _restarts(random: Random) -> str:
    delay = random.choice(
        [
            "fixed_delay: {delay: 40 ms, attempts: 4}",
            "exponential_delay: {initial_backoff: 20 ms, max_backoff: 200 ms}",
            "fixed_delay: {delay: 0, attempts: 2}",
        ]
    )
    failures = [
        f"{{fail_task: {{task: {random.choice(RESTARTED)}, attempt: {attempt}, at: {random.randint(5, 90)} ms}}}}"
        for attempt in random.choice([(0,), (0, 1), (0, 0, 1), (0, 1, 2)])
    ]
    return f"""flowsim: 1
name: restarts
{_settings(random, _checkpoints(random), f"restart_strategy: {{{delay}}}")}
sources:
{_numbers("numbers", 60, "2 ms")}{_numbers("others", 30, "3 ms")}operators:
  slow: {{input: numbers, partition: rebalance, parallelism: 2, map: {{add: {{m: n + 1}}}}, cost: 2 ms}}
  other: {{input: others, partition: rebalance, chaining: never, map: {{add: {{m: n + 1}}}}, cost: 1 ms}}
  both: {{input: {random.choice(["slow", "[slow, other]"])}, key_by: key, chaining: never, map: {{select: {{n: n}}}}}}
sinks: {{out: {{input: both, collect: {{}}}}, rest: {{input: other, collect: {{}}}}}}
failures: [{", ".join(failures)}]
"""


def _timers(random: Random) -> str:
    time = random.choice(["", ", time: processing"])
    checkpoint = "actions: [{checkpoint: {at: 30 ms}}]\n" if random.random() < 0.7 else ""
    return f"""flowsim: 1
name: timers
settings:
  record: full
  segment_size: 64 B
  max_buffers_per_channel: 2
  overdraft_buffers: 0
  checkpointing: {{interval: 1 h, min_pause: 1 h}}
sources:
  machines:
    generator:
      count: {random.choice([150, 250])}
      fields: {{machine: {{sequence: {{}}}}, at_ms: {{event_time: {{step: 0}}}}}}
    watermarks: {{timestamp: at_ms}}
operators:
  silent: {{input: machines, key_by: machine, cost: 20 us, alarm: {{after: 20 ms{time}, emit: {{machine: machine}}}}}}
sinks: {{out: {{input: silent, cost: 1 ms, partition: rebalance, collect: {{}}}}}}
{checkpoint}"""


def _two_inputs(random: Random) -> str:
    return f"""flowsim: 1
name: inputs
{_settings(random, _checkpoints(random))}
sources:
{_numbers("orders", 20, "1 ms")}{_numbers("rates", random.choice([5, 20]), "4 ms")}operators:
  priced:
    input: orders
    connect:
      to: rates
      key_by: [key, key]
      read: {random.choice(["first", "second", "alternate", "any"])}
      map: [{{select: {{n: n}}}}, {{select: {{n: n}}}}]
    cost: 1 ms
sinks: {{out: {{input: priced, collect: {{}}}}}}
"""


def _ends(random: Random) -> str:
    stop = random.random() < 0.5
    action = (
        f"actions: [{{stop: {{at: 35 ms, drain: {random.choice(['true', 'false'])}, savepoint: {{}}}}}}]\n"
        if stop
        else ""
    )
    return f"""flowsim: 1
name: ends
{_settings(random, f"checkpointing: {{interval: {random.choice([20, 50])} ms, async_duration: {random.choice(['0', '15 ms'])}}}")}
sources:
{_numbers("short", random.choice([1, 5]), "1 ms")}{_numbers("long", 20 if not stop else 1000, "4 ms")}operators:
  slow: {{input: short, partition: rebalance, cost: {random.choice(["1 ms", "20 ms"])}, filter: n >= 0}}
  all: {{input: [slow, long], partition: rebalance, parallelism: 2, map: {{select: {{n: n}}}}, cost: 1 ms}}
sinks: {{out: {{input: all, collect: {{}}}}}}
{action}"""


def _blocking(random: Random) -> str:
    failure = (
        f"failures: [{{fail_task: {{task: {random.choice(['piped', 'spilled'])}, at: {random.randint(5, 60)} ms}}}}]\n"
    )
    return f"""flowsim: 1
name: blocking
settings: {{record: full, segment_size: 256 B, restart_strategy: {{fixed_delay: {{delay: 10 ms, attempts: 3}}}}}}
sources:
{_numbers("orders", 30, "1 ms")}operators:
  piped: {{input: orders, chaining: never, cost: 1 ms, map: {{add: {{m: n}}}}}}
  spilled:
    {{input: piped, exchange: blocking, chaining: never, parallelism: 2, partition: rebalance, cost: 1 ms, filter: n >= 0}}
sinks: {{out: {{input: spilled, chaining: never, collect: {{}}}}}}
{failure if random.random() < 0.6 else ""}"""


def _stuck(random: Random) -> str:
    silent = random.randint(0, 3)
    return f"""flowsim: 1
name: stuck
settings: {{record: full}}
sources:
  readings: {{script: {{fields: {{n: long}}, subtasks: [[{{record: [1]}}, {{record: [2]}}, {{record: [3]}}]]}}}}
operators:
  asked:
    input: readings
    async:
      mode: {random.choice(["ordered", "unordered"])}
      capacity: {random.choice([1, 5])}
      timeout: {random.choice(["20 ms", "100 ms"])}
      latency: 5 ms
      silent: {{when: n == {silent}}}
      add: {{m: n}}
      on_timeout: nothing
sinks: {{out: {{input: asked, collect: {{}}}}}}
"""


def _cut_off(random: Random) -> str:
    """Two regions that fail and restart apart, in a run that ends before its data, perhaps before a restart."""
    delay = random.choice(
        ["fixed_delay: {delay: 30 ms, attempts: 9}", "fixed_delay: {delay: 5 s, attempts: 9}", "none: {}"]
    )
    failures = [
        f"{{fail_task: {{task: {task}, at: {random.randint(20, 150)} ms}}}}"
        for task in random.sample(["l", "r"], random.choice([0, 1, 2]))
    ]
    end = random.choice(["", f"actions: [{{cancel: {{at: {random.randint(60, 250)} ms}}}}]\n"])
    return f"""flowsim: 1
name: cut-off
{_settings(random, _checkpoints(random), f"restart_strategy: {{{delay}}}", f"until: {random.randint(100, 300)} ms")}
sources:
{_numbers("left", 500, "2 ms")}{_numbers("right", 500, "3 ms")}operators:
  l: {{input: left, chaining: never, cost: 1 ms, map: {{select: {{n: n}}}}}}
  r: {{input: right, partition: rebalance, parallelism: 2, cost: 1 ms, filter: n >= 0}}
sinks:
  lout: {{input: l, chaining: never, collect: {{}}}}
  rout: {{input: r, partition: global, parallelism: 1, cost: 2 ms, collect: {{}}}}
failures: [{", ".join(failures)}]
{end}"""


SHAPES: Final[tuple[Callable[[Random], str], ...]] = (
    _pressure, _async, _restarts, _async, _aligned_sources, _ends, _timers, _two_inputs, _blocking, _stuck, _pressure, _restarts,
    _cut_off, _cut_off, _cut_off,
)  # fmt: skip
