"""Every hostile input is refused, or fails its job: quickly, within a bound of memory, and with a message that helps.

The inputs are in ``tests/hostile/corpus``. A part of them runs always, all of them with ``--hostile``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from flowsim.errors import BadInput
from flowsim.recording.manifest import RunStatus
from flowsim.recording.reader import Recording
from tests.hostile.case import FAILED, OUT, REFUSED, Case
from tests.hostile.corpus import corpus, quick
from tests.hostile.worker import Ended, Worker, worker

CORPUS: Final = corpus()
LONGEST_OUTPUT: Final = 20_000
_TURNS_TEXT: Final = frozenset("\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that change the lines or the direction of a text."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        every = metafunc.config.option.hostile
        cases = [(group, case) for group, listed in CORPUS.items() for case in (listed if every else quick(listed))]
        metafunc.parametrize(("group", "case"), cases, ids=[f"{group}-{case.name}" for group, case in cases])


@pytest.fixture(scope="module")
def running() -> Iterator[Worker]:
    with worker() as process:
        yield process


def test_hostile_input_is_refused_or_fails_its_job(group: str, case: Case, running: Worker, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    ended = running.run(group, case.name, folder)
    assert mistakes(case, ended, folder / OUT) == [], (
        f"{ended.seconds} s, {ended.peak_bytes >> 20} MB\n{ended.output[:2000]}"
    )


def mistakes(case: Case, ended: Ended, out: Path) -> list[str]:
    """What is wrong with the end of a case."""
    found = []
    if ended.code != case.code:
        found.append(f"exit code {ended.code}, expected {case.code}")
    found += [f"the message does not contain {word!r}" for word in case.words if word not in ended.output]
    for sign in ("Traceback", "internal error", "a bug in flowsim"):
        if sign in ended.output:
            found.append(f"the message contains {sign!r}")
    for char in sorted(set(ended.output) - {"\n"}):
        if unicodedata.category(char) == "Cc" or char in _TURNS_TEXT:
            found.append(f"the message contains the control character {char!a}")
    if len(ended.output) > LONGEST_OUTPUT:
        found.append(f"the message has {len(ended.output)} characters, expected at most {LONGEST_OUTPUT}")
    if case.code == REFUSED and out.exists() and any(out.iterdir()):
        found.append(f"wrote {sorted(path.name for path in out.iterdir())}")
    if case.code == FAILED and ended.code == FAILED:
        found += _damages(out)
    return found


def _damages(out: Path) -> list[str]:
    """Why the recording below ``out`` cannot be used."""
    try:
        recording = Recording.open(out)
        recording.verify()
    except BadInput as error:
        return [f"the recording is damaged: {error}"]
    return [] if recording.status is not RunStatus.RUNNING else ["the recording is not closed"]


def test_every_case_has_unique_name_and_words_for_place_and_remedy() -> None:
    for group, cases in CORPUS.items():
        names = [case.name for case in cases]
        assert sorted(set(names)) == sorted(names), group
        for case in cases:
            assert case.code in (REFUSED, FAILED), case.name
            assert len(case.words) >= 2, f"{group}-{case.name}: expected words for the place and for the remedy"


def test_corpus_has_at_least_400_cases_in_ten_groups() -> None:
    assert len(CORPUS) >= 10
    assert sum(map(len, CORPUS.values())) >= 400
