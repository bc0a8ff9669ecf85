"""What ``flowsim why`` says about timers, firings and state of random jobs is so.

``FLOWSIM_HYPOTHESIS_PROFILE=deep`` checks many new jobs; ``--truth-counts`` prints how many sentences of each pattern.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random, SystemRandom

import pytest

import flowsim
from flowsim.errors import BadInput
from flowsim.facts.kinds import TimerAction
from flowsim.units import NO_TIMESTAMP
from flowsim.why.answer import WhyAnswer
from flowsim.why.questions import Asked, answer
from flowsim.why.run_facts import RunFacts
from tests.support.truth.firing_sentences import FIRINGS
from tests.support.truth.recorded_run import RecordedRun, moments
from tests.support.truth.state_sentences import STATE
from tests.support.truth.timer_jobs import TIMER_SHAPES, timer_scenario_of
from tests.support.truth.timer_sentences import TIMERS
from tests.support.truth.window_sentences import WINDOWS
from tests.support.why_truth import Sentences

IS_DEEP = os.environ.get("FLOWSIM_HYPOTHESIS_PROFILE") == "deep"
pytestmark = [pytest.mark.property, *([pytest.mark.timeout(0)] if IS_DEEP else [])]
PATTERNS = (*TIMERS, *FIRINGS, *WINDOWS, *STATE)
SEEDS = range(2 * len(TIMER_SHAPES))
MOMENTS = 3
DEEP_JOBS, DEEP_MOMENTS = 160, 3
RARE = frozenset(
    {"due, in an interrupted advance", "trigger did not fire", "cleanup timer deleted", "records in no window"}
)
"""Sentences that few random jobs reach."""
OTHER_CHAINS = (
    "on the way to", "has arrived at", "is cleaned up when the watermark reaches",
)  # fmt: skip
"""After such a sentence the chain of another question follows, which its own test checks."""
EARLY_END = re.compile(r"\S.* \(\d+/\d+\) (?:failed|was canceled) at ")
"""A sentence about a failure, of the same kind."""
HELD = re.compile(
    r"\S.* \(\d+/\d+\) has (?:no watermark yet|watermark [^,:]*(?:,\d+)* (?:ms|event time\)))(?::|, and (?!its due))"
)
"""Here the chain of what holds back the watermark begins."""
OTHER_ANSWERS = (
    "has not fired",
    "has received",
    "has emitted",
    "got no record in time",
    "has fired at",
    "The recording does not show",
    "a window exists only from its first record on",
    "does not exist.",
)
"""In the statement of an answer of ``no-output`` about windows and sinks."""


def questions(run: RecordedRun, random: Random) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Questions about everything, about each key, and about some timers and windows of the recording."""
    keys = sorted({str(row[4]).strip('"') for row in run.recording.static_rows("keys")})
    timers = [row for row in run.recording.table("timers").to_pylist() if row["action"] == TimerAction.REGISTER]
    for question in ("timer", "fired", "deleted", "ignored", "state"):
        yield question, ()
        for key in keys:
            yield question, (key,)
        for row in random.sample(timers, min(3, len(timers))) if question != "state" else ():
            key = run.names.key(row["key"]).strip('"')
            yield question, (key, f"@{row['timestamp']}")
            if NO_TIMESTAMP < row["window_start"] < row["window_end"]:
                yield question, (key, f"[{row['window_start']}, {row['window_end']})")
    for key in keys:
        yield "no-output", ("out", key)


def check_answer(sentences: Sentences, run: RecordedRun, now: int, found: WhyAnswer) -> None:
    """Checks the sentences of these questions, up to the chain of another one."""
    if any(part in found.statement.text for part in OTHER_ANSWERS) and not found.statement.text.startswith(
        ("Event", "Processing")
    ):
        return
    before: list[str] = []
    for cause in (found.statement, *found.causes):
        if EARLY_END.match(cause.text) and before:
            continue
        if HELD.match(cause.text) and before:
            break
        sentences.check(run, now, cause.text, before)
        before.append(cause.text)
        if any(part in cause.text for part in OTHER_CHAINS):
            break
    for note in found.notes:
        sentences.check(run, now, note, before)


def check(seed: int, sentences: Sentences, count: int, folder: Path) -> None:
    """Asks about a job at several times; an untrue or unknown sentence is an AssertionError."""
    flowsim.run_scenario(timer_scenario_of(seed), out=folder, allow_python=True)
    recording = flowsim.open_recording(folder)
    facts, run, random = RunFacts(recording), RecordedRun(recording), Random(seed)
    for now in [*moments(run, count), facts.end_ns]:
        for question, about in questions(run, random):
            try:
                check_answer(sentences, run, now, answer(facts.until(now), question, Asked(about)))
            except BadInput:
                continue
            except AssertionError as error:
                error.add_note(f"seed {seed}: why {question} {' '.join(map(repr, about))} at {facts.moment(now)}")
                raise


@pytest.mark.parametrize("seed", SEEDS)
def test_each_sentence_agrees_with_the_rest_of_the_recording(
    seed: int, tmp_path: Path, truth_counts: Counter[str]
) -> None:
    check(seed, Sentences(PATTERNS, truth_counts), MOMENTS, tmp_path)


if IS_DEEP:

    def test_every_sentence_is_reached_and_true_in_new_jobs(tmp_path: Path, truth_counts: Counter[str]) -> None:
        first = SystemRandom().randrange(10**6) * len(TIMER_SHAPES)
        sentences = Sentences(PATTERNS, truth_counts)
        for seed in range(first, first + DEEP_JOBS):
            check(seed, sentences, DEEP_MOMENTS, tmp_path / str(seed))
        assert {name for name, count in sentences.seen.items() if not count} <= RARE
