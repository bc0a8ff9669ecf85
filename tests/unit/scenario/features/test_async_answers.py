"""``async.answers``: the answer of each call, by record and attempt."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.cluster.mini_cluster import execute
from flowsim.errors import JobFailed
from tests.support.jobs.scenarios import compiled, refused, results, sinks

HEAD = """\
flowsim: 1
name: test
sources:
  rows:
    script:
      fields: {n: long}
      subtasks: [[{record: [1]}, {record: [2]}, {record: [3]}, {sleep: 2 s}]]
"""


def body(answers: str, mode: str = "unordered", more: str = "") -> str:
    return f"operators:\n  x:\n    input: rows\n    async: {{mode: {mode}, {more}answers: [{answers}]}}\n" + sinks(
        out="x"
    )


def answered(answers: str, tmp_path: Path, mode: str = "unordered", more: str = "") -> list[object]:
    return results(body(answers, mode, more), tmp_path, head=HEAD)["out"]


def test_the_first_answer_that_fits_gives_any_number_of_results(tmp_path: Path) -> None:
    answers = "{when: n == 1, latency: 9 ms, results: [{m: n}, {m: 10 * n}]}, {when: n < 3, results: []}, {results: [{m: -n}]}"
    assert answered(answers, tmp_path) == [(-3,), (1,), (10,)]
    assert answered(answers, tmp_path, "ordered") == [(1,), (10,), (-3,)]


def test_an_answer_after_0_ms_comes_before_the_function_returns(tmp_path: Path) -> None:
    """Rule 11.4: the record that completes at once passes one whose answer takes a nanosecond."""
    answers = "{when: n == 1, latency: %s, results: [{m: n}]}, {results: [{m: n}]}"
    head = HEAD + "settings: {cost: 0}\n"
    assert results(body(answers % "0"), tmp_path, head=head)["out"] == [(1,), (2,), (3,)]
    assert results(body(answers % "1 ns"), tmp_path, head=head)["out"] == [(2,), (3,), (1,)]


def test_answers_differ_between_attempts(tmp_path: Path) -> None:
    retry = "timeout: 1 s, retry: {fixed: {max_attempts: 2, delay: 5 ms}, when_empty: true}, "
    answers = (
        "{when: n == 1 and attempt == 1, error: not now}, {when: n == 2 and attempt < 3, results: []}, "
        "{latency: {each: attempt}, results: [{m: n, made: attempt}]}"
    )
    assert answered(answers, tmp_path, more=retry) == [(3, 1), (1, 2), (2, 3)]


def test_a_field_named_attempt_is_that_of_the_record(tmp_path: Path) -> None:
    text = HEAD.replace("n: long", "attempt: long") + body("{results: [{m: attempt}]}")
    assert results(text[len(HEAD) - 6 :], tmp_path, head=text[: len(HEAD) - 6])["out"] == [(1,), (2,), (3,)]


@pytest.mark.parametrize(("reaction", "expected"), [("drop", [(1,), (3,)]), ("{select: {m: -n}}", [(1,), (3,), (-2,)])])
def test_a_silent_call_times_out(reaction: str, expected: list[object], tmp_path: Path) -> None:
    more = f"timeout: 50 ms, on_timeout: {reaction}, "
    assert answered("{when: n == 2, silent: true}, {results: [{m: n}]}", tmp_path, more=more) == expected


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ("{when: n < 3, results: [{m: n}]}", "SimulatedCallFailed: no answer fits attempt 1"),
        ("{when: n < 3, results: [{m: n}]}, {error: the server is down}", "SimulatedCallFailed: the server is down"),
        ("{results: [{m: 6 // (n - 3)}]}", "ZeroDivisionError"),
    ],
)
def test_an_error_fails_the_job(answers: str, error: str, tmp_path: Path) -> None:
    job = compiled(HEAD + body(answers), tmp_path)
    with pytest.raises(JobFailed, match=error):
        execute(job.stream_graph(), job.run_options())


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (
            "{latency: 1 ms}",
            ":40 [0]: expected one of results, error, silent, got none of them",
        ),
        (
            "{silent: true, error: no}",
            ":40 [0]: expected one of results, error, silent, got error and silent",
        ),
        (
            "{error: no}, {results: []}",
            ":39 : expected an answer with a result, which gives the fields of the results",
        ),
        (
            "{results: [{m: n}]}, {results: [{m: str(n)}]}",
            ":72 [1].results[0]: expected the fields of the first result, m: long, got m: string",
        ),
        (
            "{when: n, results: [{m: n}]}",
            ":47 [0].when: expected a condition, this expression gives long",
        ),
        (
            "{results: [{m: timestamp}]}",
            ":51 [0].results[0]: an asynchronous function cannot read the timestamp: add it as a field in an earlier map",
        ),
        (
            "{latency: {each: attempts}, results: [{m: n}]}",
            ":57 [0].latency.each: unknown name 'attempts' (did you mean 'attempt'?), at character 1 of 'attempts'",
        ),
    ],
)
def test_answers_that_cannot_be_are_refused(answers: str, message: str, tmp_path: Path) -> None:
    assert refused(HEAD + body(answers), tmp_path) == [
        "s.yaml:11" + message.replace(" ", " operators.x.async.answers", 1)
    ]


def test_answers_have_their_own_latencies_and_failures(tmp_path: Path) -> None:
    text = HEAD + body("{results: [{m: n}]}", more="latency: 1 ms, fails: {share: 0.5}, ")
    assert refused(text, tmp_path) == [
        "s.yaml:11:12 operators.x.async: each answer has its own, remove latency and fails"
    ]
