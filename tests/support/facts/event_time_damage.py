"""Jobs with splits, two inputs, strategies behind operators and interruptible timers, and damage to their event time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import Entry, ScriptedSource, end, record, sleep
from flowsim.datastream import KeyedCoProcessFunction, KeyedProcessFunction, StreamExecutionEnvironment
from flowsim.datastream.common import Duration, Types, WatermarkStrategy
from flowsim.testing import run_job
from tests.support.facts.fact_builder import FactBuilder, recorded

Pair = tuple[str, int]


def first_field(pair: Any) -> object:
    return pair[0]


class Reminders(KeyedProcessFunction):
    """A timer of each domain for every record; timers may give way."""

    def use_interruptible_timers(self) -> bool:
        return True

    def process_element(self, value: Pair, ctx: KeyedProcessFunction.Context) -> Iterable[Pair]:
        timers = ctx.timer_service()
        timers.register_event_time_timer((ctx.timestamp() or 0) + value[1] % 5)
        timers.register_processing_time_timer(timers.current_processing_time() + value[1] % 3)
        if value[1] % 4 == 0:
            timers.delete_event_time_timer((ctx.timestamp() or 0) + value[1] % 5)
        yield value

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Pair]:
        yield str(ctx.get_current_key()), timestamp


class RemindersOfTwo(KeyedCoProcessFunction):
    """The same over two inputs, none of which gives way."""

    def process_element1(self, value: Pair, ctx: KeyedCoProcessFunction.Context) -> Iterable[Pair]:
        ctx.timer_service().register_event_time_timer((ctx.timestamp() or 0) + 3)
        yield value

    def process_element2(self, value: Pair, ctx: KeyedCoProcessFunction.Context) -> Iterable[Pair]:
        return ()

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterable[Pair]:
        yield str(ctx.get_current_key()), timestamp


def source(seed: int, *splits: str | None) -> ScriptedSource:
    """Two subtasks that pause longer than a timeout now and then."""
    random = Random(seed)
    made = []
    for subtask in range(2):
        script: list[Entry] = []
        for number in range(14):
            script.append(
                record((random.choice("abcd"), number), 4 * number + random.randrange(9), split=random.choice(splits))
            )
            if number % 6 == 4 + subtask:
                script.append(sleep(80))
        if splits[0] is not None:
            script += [end(split=splits[0]), record(("a", 99), 90, split=splits[1])]
        made.append(script)
    return ScriptedSource(*made, gap_ms=5)


def bounded(bound_ms: int, idle_ms: int | None = None) -> WatermarkStrategy:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(bound_ms))
    return strategy if idle_ms is None else strategy.with_idleness(Duration.of_millis(idle_ms))


def event_time_jobs() -> Iterator[tuple[str, FactBuilder]]:
    """Two inputs, one of them of splits; and a strategy in the middle before timers that give way."""
    for interruptible in (False, True):
        env = StreamExecutionEnvironment.get_execution_environment().configure(
            auto_watermark_interval_ms=10, interruptible_timers=interruptible
        )
        first = env.from_source(source(1, None), bounded(5, 20), "first").map(lambda pair: pair)
        if interruptible:
            first = first.rebalance().map(lambda pair: pair).assign_timestamps_and_watermarks(bounded(3))
            made = first.key_by(first_field, Types.STRING()).process(Reminders())
        else:
            second = env.from_source(source(2, "p", "q"), bounded(2, 30), "second")
            keyed = second.key_by(first_field, Types.STRING())
            made = first.key_by(first_field, Types.STRING()).connect(keyed).process(RemindersOfTwo())
        made.set_parallelism(2).rebalance().sink_to(CollectSink()).name("sink")
        yield ("a strategy in the middle" if interruptible else "two inputs"), recorded(run_job(env).facts)


def damage_event_time(facts: FactBuilder, random: Random) -> None:
    """Takes a row of event time away, doubles it, or changes a number in it."""
    table = random.choice(["task_watermark", "generated_watermark", "sent", "timers"])
    row = random.choice(facts.rows(table, lambda row: table != "sent" or row["kind"] in (1, 2)))
    how = random.choice(["delete", "double", "change"])
    if how == "delete":
        facts.remove(table, row)
    elif how == "double":
        facts.facts.append((table, dict(row)))
    else:
        column = random.choice([name for name in ("timestamp", "seq", "records", "action", "key") if name in row])
        if column == "seq":
            later = [
                r for _, r in facts.facts if r.get("task") == row["task"] and int(r.get("seq", -1)) > int(row["seq"])
            ]
            other = min(later, key=lambda r: int(r["seq"]), default=row)
            row["seq"], other["seq"] = other["seq"], row["seq"]
        elif column == "action":
            row[column] = (int(row[column]) + 1) % 3
        elif abs(int(row[column])) < 2**62:
            row[column] = int(row[column]) + random.choice([-1, 1, 2])
