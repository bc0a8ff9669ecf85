"""What ``flowsim why`` says about waits, missing rows and orders in random jobs is so.

``FLOWSIM_HYPOTHESIS_PROFILE=deep`` asks about many new jobs, and fails if a pattern was not reached; ``--truth-counts``
prints how many sentences of each pattern were checked.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random, SystemRandom

import pytest

import flowsim
from flowsim.history.checkpoint_path import CheckpointSteps
from flowsim.why.answer import WhyAnswer
from flowsim.why.questions import QUESTIONS, Asked, answer
from flowsim.why.records import Record, Records
from flowsim.why.run_facts import RunFacts
from tests.support.truth.altered_sentences import AlteredSentences
from tests.support.truth.disturbed_recordings import recording_of
from tests.support.truth.no_results_sentences import NO_RESULTS
from tests.support.truth.order_sentences import ORDER
from tests.support.truth.recorded_run import RecordedRun, moments
from tests.support.truth.waiting_jobs import SHAPES, scenario_of
from tests.support.truth.waiting_sentences import WAITING
from tests.support.why_truth import MACROS, Sentences, moment_of

MOMENT = MACROS["M"]
IS_DEEP = os.environ.get("FLOWSIM_HYPOTHESIS_PROFILE") == "deep"
pytestmark = [pytest.mark.property, *([pytest.mark.timeout(0)] if IS_DEEP else [])]
PATTERNS = (*WAITING, *NO_RESULTS, *ORDER)
SEEDS = range(len(SHAPES))
MOMENTS, PAIRS = 4, 6
DISTURBED = (107, 131, 154)
DEEP_JOBS, DEEP_DISTURBED, DEEP_MOMENTS = 240, 60, 8
RARE = (
    "source ended", "event-time timers", "async in any order", "credits", "acknowledgements", "output blocked by alignment",
    "idle timeout", "behind a barrier",
)  # fmt: skip
"""Sentences that a long run may miss: about event time, of hash sets, and about single moments."""
LOOSE = ("longest wait", "starts together")
"""Patterns with a number that the facts of the task alone do not show, or that fits other tasks as well."""
UNTIL_NS = 1_000_000_000
"""A call that is never answered beside periodic checkpoints never ends a job."""
Answered = Iterator[tuple[int, WhyAnswer]]
"""Answers, and the times about which they are."""


def waits(facts: RunFacts, run: RecordedRun, count: int) -> Answered:
    """Each task, at several times, and without a moment."""
    for task in run.tasks:
        for now in (None, *moments(run, count)):
            found = answer(facts if now is None else facts.until(now), "waiting", Asked((str(task),)))
            yield middle_of(found) or facts.end_ns if now is None else now, found


def middle_of(found: WhyAnswer) -> int | None:
    """The middle of the wait that a statement names, about which a question without a moment is answered."""
    wait = re.search(rf"from ({MOMENT}) to ({MOMENT})", found.statement.text)
    return None if wait is None else (moment_of(wait[1]) + moment_of(wait[2])) // 2


def missing_rows(facts: RunFacts, run: RecordedRun, count: int) -> Answered:
    """Each sink, unless its rows wait for event time: that is tested where event time is."""
    if any(operator.kind == "window" for operator in run.operators):
        return
    yield facts.end_ns, answer(facts, "no-output", Asked(()))
    for now in moments(run, count):
        for operator in run.operators:
            if operator.kind == "sink":
                found = answer(facts.until(now), "no-output", Asked((operator.name,)))
                if not any("event-time timer" in cause.text for cause in found.causes):
                    yield now, found


def orders(facts: RunFacts, run: RecordedRun, seed: int, pairs: int) -> Answered:
    """Pairs of records whose values occur once: causes name a record by its value."""
    records = Records(facts).some(400)
    values = Counter(record.value for record in records)
    records = [record for record in records if values[record.value] == 1]
    Random(seed).shuffle(records)
    asked: list[tuple[Record, Record]] = list(pairwise(records))[:pairs]
    for one, other in asked:
        yield facts.end_ns, answer(facts, "order", Asked((one.argument, other.argument)))


def check(seed: int, sentences: Sentences, count: int, pairs: int, folder: Path) -> None:
    """Asks about the job of a seed; an untrue or unknown sentence is an AssertionError."""
    flowsim.run_scenario(scenario_of(seed), out=folder, until_ns=UNTIL_NS)
    recording = flowsim.open_recording(folder)
    facts, run = RunFacts(recording), RecordedRun(recording)
    for answered in (waits(facts, run, count), missing_rows(facts, run, count), orders(facts, run, seed, pairs)):
        check_all(seed, facts, run, sentences, answered)


def check_disturbed(seed: int, sentences: Sentences, count: int, folder: Path) -> bool:
    """Asks what the tasks of a job with failures wait for; False if two tasks have one name."""
    recording = recording_of(seed, folder)
    facts, run = RunFacts(recording), RecordedRun(recording)
    is_named = len(run.task_ids) == len(run.tasks)
    if is_named:
        check_all(seed, facts, run, sentences, waits(facts, run, count))
    return is_named


def check_all(seed: int, facts: RunFacts, run: RecordedRun, sentences: Sentences, answered: Answered) -> None:
    for now, found in answered:
        try:
            sentences.check_answer(run, now, found)
        except AssertionError as error:
            error.add_note(f"seed {seed} at {facts.moment(now)}: {found.statement.text}")
            raise


@pytest.mark.parametrize("seed", SEEDS)
def test_each_sentence_agrees_with_the_rest_of_the_recording(
    seed: int, tmp_path: Path, truth_counts: Counter[str]
) -> None:
    check(seed, Sentences(PATTERNS, truth_counts), MOMENTS, PAIRS, tmp_path)


@pytest.mark.parametrize("seeds", [(0, 2, 9), (3, 5, 12), (6, 8, 14)])
def test_sentences_with_another_number_are_noticed(seeds: tuple[int, ...], tmp_path: Path) -> None:
    sentences = AlteredSentences(PATTERNS, ("a", "b", "op", "at"))
    for seed in seeds:
        check(seed, sentences, 2, PAIRS, tmp_path / str(seed))
    assert sum(sentences.noticed.values()) > 50
    assert {name: text for name, text in sentences.weak.items() if name not in LOOSE} == {}


@pytest.mark.parametrize("seed", DISTURBED)
def test_waits_of_restarted_attempts_are_named_apart(seed: int, tmp_path: Path, truth_counts: Counter[str]) -> None:
    assert check_disturbed(seed, Sentences(WAITING, truth_counts), MOMENTS, tmp_path)


def check_parts(facts: RunFacts) -> None:
    """The parts of a complete checkpoint follow each other from its trigger to its completion."""
    for one in facts.checkpoints().checkpoints.values():
        if one.status == "completed":
            parts = CheckpointSteps(facts, one).path()
            ends = [one.triggered_ns, *(part.end_ns for part in parts)]
            assert [*(part.begin_ns for part in parts), one.ended_ns] == ends


@pytest.mark.parametrize("level", ["full", "elements"])
def test_every_question_is_answered_at_every_time(level: str, tmp_path: Path) -> None:
    """Also before the first fact, and about a recording without the tables of level full."""
    asked = 0
    for seed in range(100, 100 + len(SHAPES) * (10 if IS_DEEP else 1)):
        out = tmp_path / str(seed)
        flowsim.run_scenario(scenario_of(seed), out=out, until_ns=UNTIL_NS, overrides=(f"settings.record={level}",))
        facts = RunFacts(flowsim.open_recording(out))
        check_parts(facts)
        times = [facts.start_ns + (facts.end_ns - facts.start_ns) * place // 5 for place in range(6)]
        for question in QUESTIONS.values():
            words = question.example(facts)
            for now in (None, facts.start_ns - 1, *times) if words else ():
                assert answer(facts if now is None else facts.until(now), question.name, Asked(words)).statement.text
                asked += 1
    assert asked > 250


if IS_DEEP:

    def test_every_sentence_is_reached_and_true_in_new_jobs(tmp_path: Path, truth_counts: Counter[str]) -> None:
        first, sentences = SystemRandom().randrange(10**6) * len(SHAPES), Sentences(PATTERNS, truth_counts)
        for seed in range(first, first + DEEP_JOBS):
            check(seed, sentences, DEEP_MOMENTS, 4 * PAIRS, tmp_path / str(seed))
        for seed in range(first, first + DEEP_DISTURBED):
            check_disturbed(seed, sentences, DEEP_MOMENTS, tmp_path / f"disturbed {seed}")
        assert [name for name, count in sentences.seen.items() if not count and name not in RARE] == []
