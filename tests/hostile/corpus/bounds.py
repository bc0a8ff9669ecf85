"""Bounds: jobs that are larger than the caller allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.hostile.case import REFUSED, Case, Make
from tests.hostile.inputs import check, records, run, scenario

PARTITIONS = ("rebalance", "shuffle", "broadcast")
ROWS = {"word": "string", "n": "long"}
TIMES = "watermarks: {timestamp: n}"
RAISES_CHANNELS = ("s.yaml:", "--limit channels=")


def exchange(sources: int, targets: int, partition: str = "rebalance", **settings: object) -> str:
    """Two operators with an edge of this partitioner between them."""
    operators = (
        f"  a: {{input: rows, partition: rebalance, parallelism: {sources}, filter: true}}\n"
        f"  b: {{input: a, partition: {partition}, parallelism: {targets}, filter: true}}"
    )
    return scenario(operators, settings=", ".join(f"{name}: {value}" for name, value in settings.items()), stream="b")


def united(operators: int, parallelism: int) -> str:
    """An operator that reads many others."""
    lines = [
        f"  o{number}: {{input: rows, partition: rebalance, parallelism: {parallelism}, filter: true}}"
        for number in range(operators)
    ]
    names = ", ".join(f"o{number}" for number in range(operators))
    lines.append(f"  b: {{input: [{names}], partition: rebalance, parallelism: {parallelism}, filter: true}}")
    return scenario("\n".join(lines), stream="b")


def unions(operators: int, count: int, inputs: int) -> str:
    """Operators that each read many others: more edges than operators."""
    names = ", ".join(f"o{number}" for number in range(inputs))
    lines = [f"  o{number}: {{input: rows, filter: true}}" for number in range(operators)]
    lines += [f"  u{number}: {{input: [{names}], filter: true}}" for number in range(count)]
    return scenario("\n".join(lines), settings="network_buffers: 10", stream="u0")


def _of_channels() -> Iterator[Case]:
    for partition in PARTITIONS:
        for sources, targets in ((1_100, 1_100), (32_768, 40), (40, 32_768), (32_768, 32_768)):
            name = f"{sources} x {targets} channels, {partition}"
            limits = ("--limit", "subtasks=100000")
            yield Case(name, run(exchange(sources, targets, partition), *limits), REFUSED, *RAISES_CHANNELS)
    yield Case("blocking exchange", check(exchange(1_100, 1_100, exchange="blocking")), REFUSED, *RAISES_CHANNELS)
    yield Case("one task manager", run(exchange(1_100, 1_100, task_managers="one")), REFUSED, *RAISES_CHANNELS)
    yield Case("channels of a union", run(united(12, 320)), REFUSED, *RAISES_CHANNELS)
    yield Case("lower limit of channels", check(exchange(3, 3), "--limit", "channels=9"), REFUSED, *RAISES_CHANNELS)


def _of_subtasks() -> Iterator[Case]:
    for operators in (2, 4, 8, 16, 100):
        words = ("s.yaml:", "--limit subtasks=", "of them run")
        yield Case(f"{operators} operators of 32768 subtasks", run(united(operators, 32_768)), REFUSED, *words)
    for parallelism in (32_769, 10**6, 10**9, 10**18):
        yield Case(f"parallelism {parallelism}", run(exchange(1, parallelism)), REFUSED, "s.yaml:", "32768")
    for parallelism in ("0", "-1", "1.5", "'4'", "true", "1e9", "[4]", "{}"):
        text = scenario(
            f"  a: {{input: rows, partition: rebalance, parallelism: {parallelism}, filter: true}}", stream="a"
        )
        yield Case(f"parallelism of type {parallelism}", check(text), REFUSED, "s.yaml:6:", "parallelism")
    yield Case(
        "lower limit of subtasks",
        check(exchange(3, 3), "--limit", "subtasks=3"),
        REFUSED,
        "s.yaml:",
        "--limit subtasks=",
    )


def _of_buffers() -> Iterator[Case]:
    words = ("s.yaml:", "--limit network_buffers=")
    for exclusive in (100, 10_000, 100_000):
        settings: Mapping[str, object] = {"exclusive_buffers_per_channel": exclusive}
        yield Case(f"{exclusive} exclusive buffers", run(exchange(600, 600, **settings)), REFUSED, *words)
    yield Case(
        "too few buffers of many unions",
        run(lambda: unions(100, 90, 100)),
        REFUSED,
        "s.yaml:",
        "set network_buffers to",
    )
    yield Case(
        "too few buffers", run(exchange(300, 300, network_buffers=10)), REFUSED, "s.yaml:", "set network_buffers to"
    )
    for name in ("network_buffers", "exclusive_buffers_per_channel", "floating_buffers_per_gate", "overdraft_buffers"):
        for value in ("-1", 10**18, "lots"):
            yield Case(f"{name} {value}", check(exchange(1, 1, **{name: value})), REFUSED, "s.yaml:", name)
    for value in ("1", "63", "1 GiB", 10**18, "-4", "four"):
        yield Case(
            f"segment size {value}", check(exchange(1, 1, segment_size=value)), REFUSED, "s.yaml:", "segment_size"
        )


def _of_windows() -> Iterator[Case]:
    words = ("s.yaml:6:", "--limit windows_per_record=")
    for size, slide in (("365 d", "1 ms"), ("9999 s", "1 ms"), ("10001 ms", "1 ms")):
        window = f"window: {{sliding: {{size: {size}, slide: {slide}}}}}, aggregate: {{n: count()}}"
        text = scenario(
            f"  a: {{input: rows, key_by: word, {window}}}", f"{records(ROWS, ['a', 1])}, {TIMES}", stream="a"
        )
        yield Case(f"{size} by {slide} windows", run(text), REFUSED, *words)


def _of_pools() -> Iterator[Case]:
    words = ("s.yaml:", "--limit shared_pools=")
    yield Case("pools of blocking exchanges", pools(600, exchange="blocking"), REFUSED, *words)
    yield Case("pools of little memory", pools(600, network_buffers=500_000), REFUSED, *words)


def pools(parallelism: int, **settings: object) -> Make:
    """Pools that share one task manager with too little memory for all."""
    return run(exchange(parallelism, parallelism, task_managers="one", **settings), "--limit", "shared_pools=1000")


CASES = [*_of_channels(), *_of_subtasks(), *_of_buffers(), *_of_pools(), *_of_windows()]
