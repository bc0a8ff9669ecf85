"""Interval joins beside IntervalJoinOperator, with interruptible timers too (MailboxWatermarkProcessor; 9.18, 10.33-10.36).

A Java driver runs the real operator with a heap backend, and ours runs the same records, watermarks and mails; a mail runs
when the script says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from flowsim.errors import BadInput
from flowsim.operators.functions.interval_join import IntervalBounds, IntervalJoinOperator, JoinContext
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.streamrecord.elements import OutputTag
from flowsim.testing.harness import MultipleInputOperatorHarness
from tests.support.flink.machine import Differential

DISTANCE = OutputTag("distance")

times = st.one_of(
    st.integers(-3, 20), st.integers(0, 12).map(lambda n: n * 16), st.integers(0, 30).map(lambda n: n * 1000),
    st.sampled_from([2**63 - 1, 2**63 - 2, -(2**63) + 1, 2**40]),
)  # fmt: skip
records = st.tuples(st.just("r"), st.integers(1, 2), st.integers(0, 40), times)
watermarks = st.tuples(st.just("w"), st.integers(1, 2), times)
mails = st.sampled_from([("mail",), ("run",), ("run",)])
strays = st.lists(st.tuples(st.just("r"), st.integers(1, 2), st.integers(0, 9), st.none()), max_size=1)
bounds = st.tuples(
    st.one_of(st.integers(-20, 20), st.sampled_from([-3000, 1000])), st.one_of(st.integers(0, 20), st.just(5000))
)
commands = st.lists(
    st.one_of(records, records, records, records, watermarks, watermarks, mails),
    min_size=15, max_size=80,
)  # fmt: skip


class Pairs:
    """What the Java driver's function does."""

    def __init__(self, gives_way: bool) -> None:
        self.gives_way = gives_way

    def use_interruptible_timers(self) -> bool:
        return self.gives_way

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def close(self) -> None:
        self.subtask = -1

    def process_element(self, left: Any, right: Any, ctx: JoinContext) -> Iterable[object]:
        yield f"{left}+{right}"
        distance = ctx.get_right_timestamp() - ctx.get_left_timestamp()
        distance = (distance + 2**63) % 2**64 - 2**63
        if distance % 4 == 0:
            yield DISTANCE, distance
        yield ctx.get_timestamp()


def harness(case: dict[str, Any]) -> MultipleInputOperatorHarness:
    within = IntervalBounds.between(
        case["lower"], case["upper"], lower_exclusive=case["lower_exclusive"], upper_exclusive=case["upper_exclusive"]
    )
    late = (OutputTag("late_left"), OutputTag("late_right")) if case["late_output"] else (None, None)
    operator = IntervalJoinOperator(Pairs(case["gives_way"]), within, *late)

    def key_of(value: Any) -> object:
        return value % 3

    made = MultipleInputOperatorHarness(operator, key_selectors=(key_of, key_of), key_type="LONG")
    operator.setup(replace(made.context, interruptible_timers=True), made.collected)
    operator.open()
    return made


def answer(joined: MultipleInputOperatorHarness, command: list[Any]) -> list[str]:
    operator = joined.operator
    assert isinstance(operator, IntervalJoinOperator)
    try:
        match command:
            case ["r", input_id, value, timestamp]:
                joined.element(input_id, value, timestamp)
            case ["w", input_id, timestamp]:
                joined.watermark(input_id, timestamp)
            case ["mail"]:
                joined.mailbox.execute(lambda: joined.collected.collect("mail", None), "mail")
            case _:
                joined.mailbox.run_next_mail()
    except BadInput:
        return [*emitted(joined), "throws FlinkException"]
    (service,) = operator.time_services.snapshot_timers_for_key_group(0)
    timers = operator.time_services.internal_timer_service(service, operator, lambda name: (0, 0))
    cells = sum(len(operator.state.entries_of_key_group(group)) for group in operator.state.key_groups())
    waiting = joined.mailbox.num_mails
    return [
        *emitted(joined),
        f"timers {timers.num_event_time_timers}, watermark {timers.current_watermark}, state {cells}, mails {waiting}",
    ]


def emitted(joined: MultipleInputOperatorHarness) -> list[str]:
    lines = []
    for element in joined.take_output():
        match element:
            case ("rec", "mail", None):
                lines.append("mail")
            case ("rec", value, timestamp):
                lines.append(f"rec {value} {timestamp}")
            case ("side", tag, value, timestamp):
                lines.append(f"{tag} {value} {timestamp}")
            case ("wm", timestamp):
                lines.append(f"wm {timestamp}")
    return lines


def test_joins_and_cleanup_equal_flinks(differential: Differential) -> None:
    real = differential.flink.java.org.apache.flink.streaming.api.operators.IntervalJoins

    @differential.settings(60)
    @given(bounds, st.booleans(), st.booleans(), st.booleans(), st.booleans(), commands, strays)
    def compare(
        within: tuple[int, int], lower_exclusive: bool, upper_exclusive: bool, late_output: bool, gives_way: bool,
        some: list[Any], last: list[Any],
    ) -> None:  # fmt: skip
        some = some + last
        case = {
            "lower": within[0], "upper": within[0] + within[1], "lower_exclusive": lower_exclusive,
            "upper_exclusive": upper_exclusive, "late_output": late_output, "gives_way": gives_way, "commands": some,
        }  # fmt: skip
        theirs = json.loads(real.run(json.dumps(case)))
        joined = harness(case)
        with differential.comparing("IntervalJoinOperator", commands=len(theirs)):
            for command, expected in zip(some, theirs, strict=True):
                assert answer(joined, list(command)) == expected, command

    compare()
