"""What ``flowsim why waiting`` says about random jobs is so; ``FLOWSIM_HYPOTHESIS_PROFILE=deep`` checks many new jobs."""

from __future__ import annotations

import os
import re
from pathlib import Path
from random import SystemRandom

import pytest

import flowsim
from flowsim.why.answer import WhyAnswer
from flowsim.why.questions import Asked, answer
from flowsim.why.run_facts import RunFacts
from tests.support.truth.recorded_run import RecordedRun, moments
from tests.support.truth.waiting_jobs import SHAPES, scenario_of
from tests.support.truth.waiting_sentences import WAITING
from tests.support.why_truth import MACROS, Sentences, moment_of

pytestmark = pytest.mark.property

MOMENT = MACROS["M"]
IS_DEEP = os.environ.get("FLOWSIM_HYPOTHESIS_PROFILE") == "deep"
SEEDS = range(len(SHAPES))
MOMENTS = 5
UNTIL_NS = 1_000_000_000
"""A call that is never answered beside periodic checkpoints never ends a job."""
DEEP_JOBS, DEEP_MOMENTS = 240, 12


def check(seed: int, sentences: Sentences, count: int, folder: Path) -> None:
    """Asks about each task of a job at several times; an untrue or unknown sentence is an AssertionError."""
    flowsim.run_scenario(scenario_of(seed), out=folder, until_ns=UNTIL_NS)
    recording = flowsim.open_recording(folder)
    facts, run = RunFacts(recording), RecordedRun(recording)
    for task in run.tasks:
        for now in (None, *moments(run, count)):
            found = answer(facts if now is None else facts.until(now), "waiting", Asked((str(task),)))
            try:
                sentences.check_answer(run, middle_of(found) or facts.end_ns if now is None else now, found)
            except AssertionError as error:
                error.add_note(f"seed {seed}, {facts.task(task)} at {now}")
                raise


def middle_of(found: WhyAnswer) -> int | None:
    """The middle of the wait that a statement names, about which a question without a moment is answered."""
    wait = re.search(rf"from ({MOMENT}) to ({MOMENT})", found.statement.text)
    return None if wait is None else (moment_of(wait[1]) + moment_of(wait[2])) // 2


@pytest.mark.parametrize("seed", SEEDS)
def test_each_sentence_agrees_with_the_rest_of_the_recording(seed: int, tmp_path: Path) -> None:
    check(seed, Sentences(WAITING), MOMENTS, tmp_path)


if IS_DEEP:

    def test_every_sentence_is_reached_and_true_in_new_jobs(tmp_path: Path) -> None:
        first, sentences = SystemRandom().randrange(10**6) * len(SHAPES), Sentences(WAITING)
        for seed in range(first, first + DEEP_JOBS):
            check(seed, sentences, DEEP_MOMENTS, tmp_path / str(seed))
        print("".join(f"\n{count:9,} {name}" for name, count in sentences.seen.items()))
        assert [name for name, count in sentences.seen.items() if not count] == []
