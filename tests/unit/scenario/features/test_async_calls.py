"""``async:`` of a scenario: results of its calls, their times, and failing, silent and late calls."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from flowsim.cluster.mini_cluster import execute
from flowsim.errors import Deadlock, JobFailed
from flowsim.facts.kinds import AsyncAction, Level
from flowsim.facts.schema import TABLES
from flowsim.graph.stream_graph import ChainingStrategy
from flowsim.scenario.runner import run_compiled
from tests.support.jobs.scenarios import compiled, results, sinks

HEAD = """\
flowsim: 1
name: test
sources:
  rows:
    script:
      fields: {word: string, n: long, ratio: double}
      subtasks:
        - - {record: [b, 1, 0.5]}
          - {record: [a, 2, 1.0]}
          - {record: [b, 12, 2.5]}
          - {record: [a, 3, null]}
          - {sleep: 2 s}
"""
"""The source ends long after its last record: at its end retries wait no longer (rule 11.27)."""


def body(block: str) -> str:
    return f"operators:\n  x:\n    input: rows\n    async: {block}\n" + sinks(out="x")


def answers(block: str, tmp_path: Path, *, allow_python: bool = False) -> list[object]:
    return results(body(block), tmp_path, allow_python=allow_python, head=HEAD)["out"]


def ns(block: str, tmp_path: Path) -> list[object]:
    """The field n of what comes out, in order."""
    return [row[1] for row in answers(block, tmp_path)]  # type: ignore[index]


def calls(block: str, tmp_path: Path) -> list[int]:
    """The entry of every call, in order."""
    run = run_compiled(compiled(HEAD + body(block), tmp_path), record=Level.ELEMENTS)
    assert run.facts is not None
    names = TABLES["async_elements"].names
    entry, action = names.index("entry"), names.index("action")
    return [row[entry] for row in run.facts.rows("async_elements") if row[action] == AsyncAction.INVOKE]


def test_ordered_and_unordered_results_have_their_order(tmp_path: Path) -> None:
    latency = 'latency: {each: "100 - 5 * n"}, select: {n: n, m: n * 2}'
    assert answers(f"{{mode: ordered, {latency}}}", tmp_path) == [(1, 2), (2, 4), (12, 24), (3, 6)]
    assert answers(f"{{mode: unordered, {latency}}}", tmp_path) == [(12, 24), (3, 6), (2, 4), (1, 2)]


def test_legacy_design_gives_same_results(tmp_path: Path) -> None:
    latency = 'design: legacy, latency: {each: "100 - 5 * n"}, select: {n: n, m: n * 2}'
    assert answers(f"{{mode: ordered, {latency}}}", tmp_path) == [(1, 2), (2, 4), (12, 24), (3, 6)]
    assert answers(f"{{mode: unordered, {latency}}}", tmp_path) == [(12, 24), (3, 6), (2, 4), (1, 2)]
    node = next(
        n
        for n in compiled(HEAD + body(f"{{mode: ordered, {latency}}}"), tmp_path).stream_graph().nodes.values()
        if n.name == "x"
    )
    assert node.description.params["design"] == "legacy"


def test_added_field_is_appended_or_replaces_a_field(tmp_path: Path) -> None:
    found = answers("{mode: ordered, latency: 5 ms, add: {n: n + 1, long_word: word + word}}", tmp_path)
    assert found[0] == ("b", 2, 0.5, "bb")


@pytest.mark.parametrize(
    "latency",
    [
        "20 ms",
        "{uniform: {low: 0, high: 50 ms}}",
        "{normal: {mean: 20 ms, standard_deviation: 10 ms}}",
        "{lognormal: {median: 20 ms, p99: 200 ms}}",
        "{lognormal: {median: 20 ms, sigma: 0.5}}",
        "{exponential: {mean: 20 ms}}",
        "{trace: {path: trace.txt}}",
        "{trace: {path: trace.csv, column: took, unit: us}}",
        "{each: 0.5}",
    ],
)
def test_every_latency_form_answers_every_record(latency: str, tmp_path: Path) -> None:
    (tmp_path / "trace.txt").write_text("5\n1\n")
    (tmp_path / "trace.csv").write_text("took\n700\n")
    block = f"{{mode: unordered, latency: {latency}, spikes: {{share: 0.5, latency: {latency}}}, add: {{}}}}"
    text = HEAD + body(block.replace("add: {}", "add: {m: n}"))
    job = compiled(text, tmp_path, tmp_path)
    execute(job.stream_graph(), job.run_options())
    (sink,) = job.sinks
    assert sink.collected is not None
    assert sorted(row[1] for row in sink.collected.values()) == [1, 2, 3, 12]  # type: ignore[index]
    assert [file.name for file in job.inputs] == [name for name in ("trace.txt", "trace.csv") if name in latency]


def test_lookup_adds_columns_of_row_with_key(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id;who;size\na;Ann;3\nz;Zed;4\n")
    table = "csv: t.csv, delimiter: ';', columns: {who: string, id: string, size: int}, key: word, key_column: id"
    wanted = {
        "nulls": [("b", 1, None, None), ("a", 2, "Ann", 3), ("b", 12, None, None), ("a", 3, "Ann", 3)],
        "drop": [("a", 2, "Ann", 3), ("a", 3, "Ann", 3)],
    }
    for missing, rows in wanted.items():
        block = f"{{mode: ordered, latency: 5 ms, lookup: {{{table}, missing: {missing}}}}}"
        operators = "operators:\n  s: {input: rows, map: {select: {word: word, n: n}}}\n  x:\n    input: s\n"
        text = (
            HEAD
            + operators
            + f"    async: {block}\n  y: {{input: x, filter: size is None or size > 0}}\n"
            + sinks(o="y")
        )
        job = compiled(text, tmp_path, tmp_path)
        execute(job.stream_graph(), job.run_options())
        assert job.sinks[0].collected is not None
        assert job.sinks[0].collected.values() == rows
        assert [file.name for file in job.inputs] == ["t.csv"]
    job = compiled(
        HEAD + body(f"{{mode: ordered, latency: 5 ms, lookup: {{{table}, missing: fail}}}}"), tmp_path, tmp_path
    )
    with pytest.raises(JobFailed, match="no row of the table has the key 'b'"):
        execute(job.stream_graph(), job.run_options())


@pytest.mark.parametrize("key", ["split(word)", "[word]"])
def test_lookup_key_that_is_a_list_fails_job_with_message(key: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,who\na,Ann\n")
    table = f'csv: t.csv, columns: {{id: string, who: string}}, key: "{key}", key_column: id'
    job = compiled(HEAD + body(f"{{mode: ordered, latency: 5 ms, lookup: {{{table}}}}}"), tmp_path, tmp_path)
    with pytest.raises(JobFailed, match="a key is a number, a text or a boolean"):
        execute(job.stream_graph(), job.run_options())


def test_failing_call_fails_the_job(tmp_path: Path) -> None:
    with pytest.raises(JobFailed, match="the simulated call failed"):
        answers("{mode: ordered, latency: 5 ms, add: {m: n}, fails: {when: n == 12}}", tmp_path)
    assert ns("{mode: ordered, latency: 5 ms, add: {m: n}, fails: {share: 0.0}}", tmp_path) == [1, 2, 12, 3]
    with pytest.raises(JobFailed):
        answers("{mode: ordered, latency: 5 ms, add: {m: n}, fails: {share: 1.0}}", tmp_path)


def test_exception_of_expression_is_an_error_of_the_call(tmp_path: Path) -> None:
    with pytest.raises(JobFailed, match="ZeroDivisionError"):
        answers("{mode: ordered, latency: 5 ms, select: {m: 1 // (n - 12)}}", tmp_path)


def test_on_timeout_drops_replaces_or_ignores_record(tmp_path: Path) -> None:
    block = "{{mode: unordered, timeout: 100 ms, latency: 5 ms, silent: {{when: n == 2}}, add: {{m: n}}{0}}}"
    with pytest.raises(JobFailed, match="timed out"):
        answers(block.format(""), tmp_path)
    assert ns(block.format(", on_timeout: drop"), tmp_path) == [1, 12, 3]
    assert answers(block.format(", on_timeout: {add: {m: -n}}"), tmp_path)[-1] == ("a", 2, 1.0, -2)
    select = ", on_timeout: {select: {word: \"'?'\", n: 0, ratio: None, m: 0}}"
    assert answers(block.format(select), tmp_path)[-1] == ("?", 0, None, 0)
    with pytest.raises(Deadlock):
        answers(block.format(", on_timeout: nothing"), tmp_path)


def test_on_timeout_nothing_waits_for_late_answer(tmp_path: Path) -> None:
    block = "{mode: unordered, timeout: 100 ms, latency: {each: n * 100}, add: {m: n}, on_timeout: nothing}"
    assert ns(block, tmp_path) == [1, 2, 3, 12]


def test_spikes_use_their_own_latency(tmp_path: Path) -> None:
    block = "{{mode: unordered, latency: 5 ms, add: {{m: n}}, spikes: {{share: {0}, latency: {{each: 1000 - n}}}}}}"
    assert ns(block.format(1), tmp_path) == [12, 3, 2, 1]
    assert ns(block.format(0), tmp_path) == [1, 2, 12, 3]


RETRY = "{{mode: ordered, timeout: 1 s, latency: 1 ms, {0}, retry: {{fixed: {{max_attempts: 2, delay: 10 ms}}{1}}}}}"


def test_errors_are_retried_by_default(tmp_path: Path) -> None:
    block = RETRY.format("add: {m: n}, fails: {when: n == 2, first_attempts: 2}", "")
    assert ns(block, tmp_path) == [1, 2, 12, 3]
    assert calls(block, tmp_path).count(1) == 3
    with pytest.raises(JobFailed, match=r"failed \(attempt 3\)"):
        answers(RETRY.format("add: {m: n}, fails: {when: n == 2}", ""), tmp_path)
    with pytest.raises(JobFailed, match=r"failed \(attempt 1\)"):
        answers(RETRY.format("add: {m: n}, fails: {when: n == 2}", ", on_error: false, when: m > 99"), tmp_path)


def test_unordered_results_overtake_retried_record(tmp_path: Path) -> None:
    block = RETRY.format("add: {m: n}, fails: {when: n == 1, first_attempts: 1}", "")
    assert ns(block.replace("ordered", "unordered"), tmp_path) == [2, 12, 3, 1]


def test_results_meeting_condition_are_retried(tmp_path: Path) -> None:
    block = RETRY.format("add: {m: n * 2}", ", when: m == 24")
    assert ns(block, tmp_path) == [1, 2, 12, 3]
    assert [calls(block, tmp_path).count(entry) for entry in range(4)] == [1, 1, 3, 1]


def test_empty_results_are_retried_only_when_set(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,who\na,Ann\n")
    table = "lookup: {csv: t.csv, columns: {id: string, who: string}, key: word, key_column: id, missing: drop}"
    for said, times in (("", 1), (", when_empty: true", 3), (", when: n > 0", 1)):
        job = compiled(HEAD + body(RETRY.format(table, said)), tmp_path, tmp_path)
        run = run_compiled(job, record=Level.ELEMENTS)
        assert run.facts is not None
        names = TABLES["async_elements"].names
        rows = run.facts.rows("async_elements")
        called = [row[names.index("entry")] for row in rows if row[names.index("action")] == AsyncAction.INVOKE]
        assert called.count(0) == times
        assert called.count(1) == (3 if "when: n" in said else 1)


def test_retry_pauses_grow_up_to_maximum(tmp_path: Path) -> None:
    block = (
        "{mode: ordered, timeout: 2 s, latency: 0, add: {m: n}, fails: {when: n == 2, first_attempts: 4}, "
        "retry: {exponential: {max_attempts: 4, initial: 10 ms, max: 50 ms, multiplier: 3}}}"
    )
    run = run_compiled(compiled(HEAD + body(block), tmp_path), record=Level.ELEMENTS)
    assert run.facts is not None
    names = TABLES["async_elements"].names
    entry, action, time_ns = (names.index(name) for name in ("entry", "action", "time_ns"))
    at_ms = [
        row[time_ns] // 1_000_000
        for row in run.facts.rows("async_elements")
        if row[action] == AsyncAction.INVOKE and row[entry] == 1
    ]
    # A timer fires in the millisecond after its own (rule 9.10).
    assert [after - before for before, after in pairwise(at_ms)] == [11, 31, 51, 51]


def test_python_class_performs_the_calls(tmp_path: Path) -> None:
    block = "{{mode: {0}, timeout: 1 s, python: flowsim_user_code:Waiting, fields: {{w: string, tens: long}}}}"
    expected = [("b", 10), ("a", 20), ("b", -1), ("a", 30)]
    assert answers(block.format("ordered"), tmp_path, allow_python=True) == expected
    assert answers(block.format("unordered"), tmp_path, allow_python=True) == [*expected[:2], expected[3], expected[2]]
    shape = "{mode: ordered, python: flowsim_user_code:AtOnce, fields: {w: string}}"
    assert answers(shape, tmp_path, allow_python=True) == [("b",), ("a",), ("b",), ("a",)]


def test_graph_equals_that_of_python_api(tmp_path: Path) -> None:
    block = "{mode: unordered, capacity: 7, timeout: 3 s, latency: 1 ms, add: {m: n}}"
    text = HEAD + body(block).replace("    input: rows\n", "    input: rows\n    chaining: head\n")
    node = next(node for node in compiled(text, tmp_path).stream_graph().nodes.values() if node.name == "x")
    operator = node.description
    assert (operator.kind, dict(operator.params)) == (
        "async_wait",
        {"mode": "unordered", "capacity": 7, "timeout_ms": 3000, "design": "mailbox", "retry": None},
    )
    assert node.chaining is ChainingStrategy.HEAD
    retrying = compiled(HEAD + body(RETRY.format("add: {m: n}", ", when: m > 1")), tmp_path)
    node = next(node for node in retrying.stream_graph().nodes.values() if node.name == "x")
    assert node.description.params["retry"] == {
        "kind": "fixed", "max_attempts": 2, "delay_ms": 10, "result": True, "exception": True,
    }  # fmt: skip
