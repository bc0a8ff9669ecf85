"""What ``flowsim why`` says of late records and windows of random jobs is so; ``FLOWSIM_HYPOTHESIS_PROFILE=deep``: new jobs."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import SystemRandom

import pytest

import flowsim
from flowsim.errors import BadInput
from flowsim.history.windows import panes_of, window_operators
from flowsim.why.answer import WhyAnswer
from flowsim.why.questions import Asked, answer
from flowsim.why.run_facts import RunFacts
from tests.support.truth.event_time_jobs import SHAPES, write_scenario
from tests.support.truth.event_time_rules import AskedRun, operator_of_row, params
from tests.support.truth.held_sentences import HELD
from tests.support.truth.late_sentences import LATE
from tests.support.truth.recorded_run import moments
from tests.support.truth.waiting_sentences import WAITING
from tests.support.why_truth import Sentences

pytestmark = pytest.mark.property

IS_DEEP = os.environ.get("FLOWSIM_HYPOTHESIS_PROFILE") == "deep"
SEEDS = range(2 * len(SHAPES))
MOMENTS = 3
WINDOWS = 4
DEEP_JOBS, DEEP_MOMENTS = 40 * len(SHAPES), 8
LATE_SEEDS = (1, 2, 13, 16, 26, 29, 39, 43, 72)
LATE_KINDS = (
    "late at window, dropped", "late at window, side output", "late at interval_join, dropped",
    "late at interval_join, side output", "late at join, dropped", "late at co_group, dropped",
    "late, and in another attempt", "only late records", "late firing", "overdue timer",
)  # fmt: skip
"""What jobs of these seeds reach, and what a deep run must reach."""
RARE_SEEDS = (35, 79)
"""Jobs with a trigger that is not computed, and with timers that hold up a watermark, which few random jobs have."""
RARE = frozenset({"generated MAX", "result of a record"})
"""A deep run may miss late records behind the end of event time of a strategy, and has no process functions."""
OWN = frozenset(pattern.name for pattern in (*LATE, *HELD))
"""The patterns that the deep run must reach; sentences about waits have a test of their own."""


class Checked:
    """The known sentences of answers about late records and of answers about windows, each in its order of comparison."""

    def __init__(self, counts: Counter[str] | None = None) -> None:
        self.counts: Counter[str] = Counter() if counts is None else counts
        self.late = Sentences((*LATE, *HELD), self.counts)
        self.others = Sentences((*HELD, *LATE, *WAITING), self.counts)


def questions(run: AskedRun, facts: RunFacts) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Late and other records, all windows that have records, and sources that alignment has paused."""
    yield "late", ()
    arrived = facts.all_rows("window_intake")
    records = [*facts.all_rows("late_drop"), *arrived.cut(max(0, len(arrived) - 3), len(arrived))]
    for row in records:
        yield "late", (f"{run.names.value(row['fingerprint'])}@{row['timestamp']}",)
    windows = {
        pane.window
        for task, operator, plan in window_operators(facts)
        for pane in panes_of(facts, task, operator, plan)[:WINDOWS]
    }
    others = {(0, 20), (5, 1_000_000)} if windows else set()
    for start, end in sorted(windows | others):
        yield "no-output", (f"[{start}, {end})",)
    for task in sorted(set(facts.all_rows("alignment")["task"].tolist())):
        yield "waiting", (str(task),)


def check(seed: int, checked: Checked, count: int, folder: Path) -> None:
    """Asks all questions at several times; an untrue or unknown sentence is an AssertionError."""
    flowsim.run_scenario(write_scenario(seed, folder), out=folder / "out")
    recording = flowsim.open_recording(folder / "out")
    facts, run = RunFacts(recording), AskedRun(recording)
    for now in moments(run, count):
        until = facts.until(now)
        for question, about in questions(run, until):
            try:
                found = answer(until, question, Asked(about))
            except BadInput:
                continue  # More windows than it computes, or none that the words name.
            run.drop, run.asked = late_record(run, found), " ".join(about)
            if run.drop is not None:
                checked.counts[of_kind(run)] += 1
                own = re.compile(r"an equal record is .+ in attempt \d+ \(of 0 to \d+\)")
                checked.counts["late, and in another attempt"] += any(map(own.fullmatch, found.notes))
            sentences = checked.late if question == "late" or run.drop is not None else checked.others
            try:
                sentences.check_answer(run, now, found)
            except AssertionError as error:
                error.add_note(f"seed {seed}: {question} {about} at {facts.moment(now)}")
                raise


def of_kind(run: AskedRun) -> str:
    """The kind of the operator at which the record of an answer is late, and what becomes of it."""
    operator = operator_of_row(run, run.drop)
    fate = "side output" if run.drop is not None and run.drop.side_output else "dropped"
    return f"late at {params(operator).get('join') or operator.kind}, {fate}"


def late_record(run: AskedRun, found: WhyAnswer) -> object:
    """The late record that an answer explains; None for one about anything else."""
    for cause in (found.statement, *found.causes[:1]):
        if " is late at " in cause.text and cause.place is not None and cause.place.task is not None:
            rows = [row for of in run.attempts("late_drop", cause.place.task) for row in of]
            return next(row for row in rows if row.seq == cause.place.seq)
    return None


@pytest.mark.parametrize("seed", SEEDS)
def test_each_sentence_agrees_with_the_rest_of_the_recording(
    seed: int, tmp_path: Path, truth_counts: Counter[str]
) -> None:
    check(seed, Checked(truth_counts), MOMENTS, tmp_path)


def test_late_records_of_joins_side_outputs_and_attempts_are_reached(
    tmp_path: Path, truth_counts: Counter[str]
) -> None:
    checked = Checked()
    for seed in LATE_SEEDS:
        check(seed, checked, 2, tmp_path / str(seed))
    truth_counts.update(checked.counts)
    assert [kind for kind in LATE_KINDS if not checked.counts[kind]] == []


def test_false_sentence_is_noticed(tmp_path: Path) -> None:
    """A watermark that is 1 ms higher than that of the task, and a sentence without a pattern."""
    flowsim.run_scenario(write_scenario(0, tmp_path), out=tmp_path / "out")
    run = AskedRun(flowsim.open_recording(tmp_path / "out"))
    task = next(channel.target_task for channel in run.channels.values())
    name, now = run.names.short_task(task), run.attempts("received", task)[0][-1].time_ns
    with pytest.raises(AssertionError):
        Sentences(HELD).check(run, now, f"{name} has watermark 123,456 ms: that of its only channel, from {name}.")
    with pytest.raises(AssertionError, match="unknown sentence"):
        Sentences(HELD).check(run, now, "The watermark waits for ever.")


if IS_DEEP:

    def test_every_sentence_is_reached_and_true_in_new_jobs(tmp_path: Path, truth_counts: Counter[str]) -> None:
        first, checked = SystemRandom().randrange(10**6) * len(SHAPES), Checked(truth_counts)
        for seed in (*LATE_SEEDS, *RARE_SEEDS, *range(first, first + DEEP_JOBS)):
            check(seed, checked, DEEP_MOMENTS, tmp_path / str(seed))
        assert [name for name in sorted({*OWN, *LATE_KINDS} - RARE) if not checked.counts[name]] == []
