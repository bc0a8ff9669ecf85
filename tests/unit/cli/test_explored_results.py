"""``flowsim explore``, and ``flowsim run --token``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from flowsim.cli.exit_code import ExitCode
from flowsim.sim.choice_token import ChoiceToken
from flowsim.testing import Schedule, run_job

UNION = """\
flowsim: 1
name: union
sources:
  left: {collection: {fields: {n: long}, rows: [[1], [2]]}}
  right: {collection: {fields: {n: long}, rows: [[3]]}}
operators:
  both: {input: [left, right], map: {add: {m: n * 2}}}
sinks:
  all: {input: both, collect: {}}
expect: {every_schedule: {rows: {all: 3}}}
"""


@pytest.fixture
def union(tmp_path: Path) -> str:
    (tmp_path / "union.yaml").write_text(UNION)
    return "union.yaml"


def test_all_results_are_listed_with_tokens_that_repeat_them(flowsim: Any, union: str) -> None:
    called = flowsim("explore", union, "--space", "order", "--json")
    found = called.document
    assert (called.code, found["findings"], list(found["spaces"])) == (0, [], ["order"])
    assert (found["spaces"]["order"]["proven"], found["spaces"]["order"]["left_out"]) == (True, [])
    rows = [[row[0] for row in result["sinks"]["all"][0]] for result in found["results"]]
    assert sorted(rows) == [[1, 2, 3], [1, 3, 2], [3, 1, 2]]
    for result, numbers in zip(found["results"], rows, strict=True):
        again = flowsim(*shlex.split(result["replay"])[1:], "--out", "out", "--json")
        assert again.code == 0
        assert [row["n"] for row in again.document["sinks"][0]["records"]] == numbers


def test_run_of_a_token_is_replayed(flowsim: Any, union: str) -> None:
    token = flowsim("explore", union, "--space", "order", "--json").document["results"][-1]["token"]
    assert flowsim("run", union, "--token", token, "--out", "first").code == 0
    again = flowsim("replay", "first", "--json")
    assert (again.code, again.document["same"]) == (0, True)


def test_table_names_results_and_the_command(flowsim: Any, union: str) -> None:
    shown = flowsim("explore", union, "--space", "order").out
    space = "order space (arrivals, timers and answers in any order)"
    assert f"{space}: all 3 results that the order of events can give, proven in 10 runs" in shown
    assert "all: 1,2 2,4 3,6" in shown
    assert "repeat one: flowsim run union.yaml --token fx1.o." in shown
    assert "the only result" in flowsim("explore", union, "--space", "order", "--outcome", "bag").out


KEYED = """\
flowsim: 1
name: keyed
sources:
  left: {collection: {fields: {k: string, n: long}, rows: [[a, 1]]}}
  right: {collection: {fields: {k: string, n: long}, rows: [[b, 3]]}}
operators:
  sum: {input: [left, right], key_by: k, window: {count: 1}, aggregate: {n: sum(n)}}
sinks:
  sums: {input: sum, collect: {}}
"""
IN_ORDER = "  all: {input: [left, right], collect: {}}\n"


def test_results_by_key_are_one_if_only_the_order_of_keys_differs(flowsim: Any, tmp_path: Path) -> None:
    (tmp_path / "keyed.yaml").write_text(KEYED)
    exact = flowsim("explore", "keyed.yaml", "--space", "order")
    assert "all 2 results that the order of events can give" in exact.out
    assert "order within each key (--outcome keys): 1 result" in exact.out
    called = flowsim("explore", "keyed.yaml", "--space", "order", "--outcome", "keys")
    assert "the only result that the order of events can give" in called.out
    assert "sums: a: a,1 | b: b,3" in called.out
    found = flowsim("explore", "keyed.yaml", "--space", "order", "--outcome", "keys", "--json").document
    (result,) = found["results"]
    assert (result["sinks"], result["keys"]) == ({"sums": [[["a", 1]], [["b", 3]]]}, {"sums": ["a", "b"]})
    assert (found["results_by"], found["sinks_in_order"]) == ({"keys": 1, "bag": 1}, [])


def test_sink_without_keys_is_compared_in_order_and_named(flowsim: Any, tmp_path: Path) -> None:
    (tmp_path / "keyed.yaml").write_text(KEYED + IN_ORDER)
    called = flowsim("explore", "keyed.yaml", "--space", "order", "--outcome", "keys")
    assert "all 2 results that the order of events can give" in called.out
    assert "sink all has no keys: its rows are compared in order" in called.out


def test_job_without_keys_is_not_compared_by_key(flowsim: Any, union: str) -> None:
    refused = flowsim("explore", union, "--outcome", "keys")
    assert refused.code == ExitCode.BAD_INPUT
    assert "--outcome keys: union.yaml has no sink behind key_by" in refused.err
    assert "--outcome keys" not in flowsim("explore", union, "--space", "order").out


def test_kept_results_in_order_are_not_continued_by_key(flowsim: Any, tmp_path: Path) -> None:
    (tmp_path / "keyed.yaml").write_text(KEYED)
    arguments = ("keyed.yaml", "--space", "order", "--resume", "kept.jsonl", "--json")
    first = flowsim("explore", *arguments)
    assert flowsim("explore", *arguments).document == first.document
    refused = flowsim("explore", *arguments, "--outcome", "keys")
    assert refused.code == ExitCode.BAD_INPUT
    assert "outcome was exact, and is now keys" in refused.err


def test_unfinished_exploration_says_what_is_missing(flowsim: Any, union: str) -> None:
    called = flowsim("explore", union, "--space", "order", "--runs", 4)
    assert "not all orders were tried:" in called.out
    assert called.code == 0


def test_second_result_is_a_finding_if_one_is_required(flowsim: Any, union: str) -> None:
    required = ("--space", "order", "--require", "one-result")
    assert flowsim("explore", union, *required).code == ExitCode.BROKEN
    assert flowsim("explore", union, *required, "--outcome", "bag").code == ExitCode.FINE


CLAIMS = """\
def in_order(rows):
    numbers = [row[0] for row in rows["all"][0]]
    assert numbers == sorted(numbers), f"{numbers} is not sorted"


def all_three(rows):
    return len(rows["all"][0]) == 3


def broken(rows):
    return rows["nothing"]
"""


def test_claim_of_a_user_is_a_finding_with_a_shrunk_token(flowsim: Any, union: str, tmp_path: Path) -> None:
    """A claim that holds for every result is none."""
    (tmp_path / "claims.py").write_text(CLAIMS)
    claims = ("--claim", "claims:in_order", "--claim", "claims:all_three", "--allow-python")
    called = flowsim("explore", union, "--space", "order", *claims, "--json")
    assert called.code == ExitCode.BROKEN
    (finding,) = called.document["findings"]
    assert finding["what"] == "claim claims:in_order does not hold"
    assert len(ChoiceToken.parse(finding["token"]).deviations) == 1
    shown = flowsim("explore", union, "--space", "order", *claims).out
    assert "claim claims:in_order does not hold: in" in shown
    assert "repeat the run: flowsim run union.yaml" in shown
    assert "is not sorted" in shown


def test_claim_about_order_is_checked_on_every_result_of_a_bag(flowsim: Any, union: str, tmp_path: Path) -> None:
    """All orders are one bag; no run but the first is new."""
    (tmp_path / "claims.py").write_text(CLAIMS)
    claims = ("--claim", "claims:in_order", "--allow-python", "--outcome", "bag", "--laws", "new", "--json")
    found = flowsim("explore", union, "--space", "order", *claims).document
    assert (len(found["results"]), [each["what"] for each in found["findings"]]) == (
        1,
        ["claim claims:in_order does not hold"],
    )


def test_exploration_with_a_changed_claim_is_not_continued(flowsim: Any, union: str, tmp_path: Path) -> None:
    (tmp_path / "changed_claims.py").write_text(CLAIMS)
    arguments = ("--space", "order", "--claim", "changed_claims:all_three", "--allow-python", "--resume", "kept.jsonl")
    assert flowsim("explore", union, *arguments).code == 0
    (tmp_path / "changed_claims.py").write_text(CLAIMS + "\n")
    refused = flowsim("explore", union, *arguments)
    assert (refused.code, "it has another exploration: claims was" in refused.err) == (ExitCode.BAD_INPUT, True)


def test_claim_that_fails_in_another_way_ends_the_exploration(flowsim: Any, union: str, tmp_path: Path) -> None:
    (tmp_path / "claims.py").write_text(CLAIMS)
    called = flowsim("explore", union, "--space", "order", "--claim", "claims:broken", "--allow-python")
    assert called.code == ExitCode.BAD_INPUT
    assert "--claim claims:broken: the function failed: KeyError: 'nothing'" in called.err
    refused = flowsim("explore", union, "--claim", "claims:broken")
    assert (refused.code, "--allow-python" in refused.err) == (ExitCode.BAD_INPUT, True)


def test_law_that_some_order_violates_is_a_finding_with_its_token(flowsim: Any, tmp_path: Path) -> None:
    fault = "faults: [{fault: drop_element, operator: both, at: 1}]\n"
    (tmp_path / "broken.yaml").write_text(UNION + fault)
    called = flowsim("explore", "broken.yaml", "--space", "order", "--laws", "all", "--json")
    found = called.document
    assert called.code == ExitCode.BROKEN
    whats = [finding["what"] for finding in found["findings"]]
    assert whats == ["law channel-fifo violated", "expected rows of sink all not met: 3"]
    assert found["checked"] == found["runs"]
    job = found["results"][0]["token"].split(".")[2]
    assert [finding["token"] for finding in found["findings"]] == [f"fx1.o.{job}."] * 2, "no choice is needed"
    again = flowsim(*shlex.split(found["findings"][0]["replay"])[1:], "--out", "out")
    assert (again.code, "channel-fifo" in again.out) == (ExitCode.BROKEN, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("explore", "union.yaml", "--space", "order", "--laws", "some"),
            "--laws: expected all, new or a number from 1",
        ),
        (("explore", "union.yaml", "--space", "order", "--laws", "0"), "--laws: expected all, new or a number from 1"),
        (("explore", "union.yaml", "--space", "seeds"), "use --space runtime --strategy costs"),
        (("explore", "union.yaml", "--space", "all"), "--space: expected order or runtime, got 'all'"),
        (
            ("explore", "union.yaml", "--space", "order", "--strategy", "costs"),
            "strategy costs is one of the runtime space: in the order space work costs nothing",
        ),
        (
            ("explore", "union.yaml", "--space", "runtime", "--strategy", "dfs"),
            "there is no strategy 'dfs'; there are: portfolio",
        ),
        (("run", "union.yaml", "--token", "fx1.o.Zm9vYmE."), "the token belongs to another job"),
        (("run", "union.yaml", "--token", "random/7/1"), "expected a token such as fx1.o."),
        (("run", "union.yaml", "--token", "fx1.o.Zm9vYmE.", "--policy", "random"), "leave out --policy"),
        (("run", "union.yaml", "--token", "fx1.o.Zm9vYmE.", "--clock", "real"), "applies to the virtual clock only"),
    ],
)
def test_refused(flowsim: Any, union: str, arguments: tuple[str, ...], message: str) -> None:
    called = flowsim(*arguments)
    assert (called.code, message in called.err) == (ExitCode.BAD_INPUT, True), called.err


def test_results_of_the_runtime_space_are_listed_and_repeated(flowsim: Any, union: str) -> None:
    called = flowsim("explore", union, "--space", "runtime", "--runs", "60", "--json")
    assert called.code == 0, called.err
    document = called.document
    orders = {tuple(tuple(row) for row in result["sinks"]["all"][0]) for result in document["results"]}
    assert len(orders) == 3
    space = document["spaces"]["runtime"]
    assert (space["strategy"], document["runs"], space["searched"]) == ("portfolio", 60, 0)
    assert space["verdict"].startswith("3 results in 60 runs; about ")
    assert (space["proven"], space["complete"]) == (False, False)
    for number, result in enumerate(document["results"]):
        again = flowsim(*shlex.split(result["replay"])[1:], "--out", f"out{number}", "--json").document
        rows = [list(row.values()) for row in again["sinks"][0]["records"]]
        assert rows == result["sinks"]["all"][0]
        assert flowsim("replay", f"out{number}").code == 0


def test_delay_bounded_strategy_says_that_it_is_finished(flowsim: Any, union: str) -> None:
    document = flowsim(
        "explore", union, "--space", "runtime", "--strategy", "delay1", "--laws", "new", "--json"
    ).document
    assert document["runs"] < 2_000
    assert document["spaces"]["runtime"]["verdict"].endswith(f"{document['runs']} runs: all that strategy delay1 has")


def test_token_of_other_settings_is_refused(flowsim: Any, union: str) -> None:
    token = flowsim("explore", union, "--space", "order", "--json").document["results"][0]["token"]
    tripled = ("--set", "operators.both.map.add.m=n * 3")
    for command in ("run", "explain"):
        changed = flowsim(command, union, "--token", token, "--set", "settings.seed=7", *tripled)
        assert (changed.code, "the token belongs to another job" in changed.err) == (ExitCode.BAD_INPUT, True)
        changed = flowsim(command, union, "--token", token, *tripled)
        expected = "the token belongs to this job without --set operators.both.map.add.m=n * 3"
        assert (changed.code, expected in changed.err) == (ExitCode.BAD_INPUT, True), changed.err


def test_token_of_a_long_random_run_is_short_and_names_its_seed(flowsim: Any, tmp_path: Path) -> None:
    rows = [[number] for number in range(60)]
    (tmp_path / "long.yaml").write_text(UNION.replace("[[1], [2]]", str(rows)).replace("{all: 3}", "{all: 60}"))
    explore = ("explore", "long.yaml", "--space", "runtime", "--strategy", "uniform", "--runs", "3", "--json")
    document = flowsim(*explore).document
    tokens = [one["token"] for one in (*document["results"], *document["findings"])]
    assert (len(document["findings"]), "uniform.1." in str(tokens)) == (1, True)
    assert max(map(len, tokens)) < 200
    for result in document["results"]:
        again = flowsim(*shlex.split(result["replay"])[1:], "--out", "out", "--json").document
        assert [list(row.values()) for row in again["sinks"][0]["records"]] == result["sinks"]["all"][0]
        assert flowsim("replay", "out").code == 0
        explained = flowsim("explain", "long.yaml", "--token", result["token"])
        assert (explained.code, "choices other than the default" in explained.out) == (0, True)


PAIRS = """\
flowsim: 1
name: pairs
sources:
  left: {collection: {fields: {k: string, n: long}, rows: [[a, 1], [a, 2], [a, 3]]}}
  right: {collection: {fields: {k: string, n: long}, rows: [[a, 10]]}}
operators:
  pairs: {input: [left, right], key_by: k, window: {count: 2}, aggregate: {n: sum(n)}}
  eleven: {input: pairs, filter: n == 11}
sinks:
  out: {input: eleven, collect: {}}
expect: {every_schedule: {rows: {out: 0}}}
"""


def test_finding_of_some_orders_is_shrunk_to_the_choice_that_it_needs(flowsim: Any, tmp_path: Path) -> None:
    """In two of the five orders, 10 is in one pair with 1."""
    (tmp_path / "pairs.yaml").write_text(PAIRS)
    found = flowsim("explore", "pairs.yaml", "--space", "order", "--laws", "all", "--json").document
    assert [finding["what"] for finding in found["findings"]] == ["expected rows of sink out not met: 0"]
    token = ChoiceToken.parse(found["findings"][0]["token"])
    assert [option for _, option in token.deviations] == [1]
    again = flowsim("run", "pairs.yaml", "--token", str(token), "--out", "out", "--json")
    assert [row["n"] for row in again.document["sinks"][0]["records"]] == [11]


PROGRAM = """\
from flowsim.datastream import StreamExecutionEnvironment


def job():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1, 2]).union(env.from_collection([3])).map(lambda number: number).name("all")
    return env

"""


def test_job_of_a_function_is_explored_and_repeated_in_python(
    flowsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "explored_program.py").write_text(PROGRAM)
    monkeypatch.syspath_prepend(tmp_path)
    called = flowsim("explore", "explored_program:job", "--allow-python", "--space", "order", "--json")
    assert called.code == 0, called.err
    results = called.document["results"]
    assert sorted(result["sinks"]["all"][0] for result in results) == [[1, 2, 3], [1, 3, 2], [3, 1, 2]]
    from explored_program import job  # type: ignore[import-not-found]

    for result in results:
        assert result["replay"] == f"run_job(job(), schedule=Schedule.of({result['token']!r}))  # flowsim.testing"
        run = run_job(job(), schedule=Schedule.of(result["token"]))
        assert run.values("all") == result["sinks"]["all"][0]


def test_function_needs_permission(flowsim: Any, tmp_path: Path) -> None:
    refused = flowsim("explore", "explored_program:job", "--space", "order")
    assert (refused.code, "runs only with --allow-python" in refused.err) == (ExitCode.BAD_INPUT, True)


def test_by_default_both_spaces_are_explored_and_results_are_in_one_table(flowsim: Any, union: str) -> None:
    found = flowsim("explore", union, "--runs", "100", "--json").document
    order, runtime = found["spaces"]["order"], found["spaces"]["runtime"]
    assert (order["proven"], order["runs"] < 50, runtime["runs"]) == (True, True, 50)
    assert (order["results"], runtime["results"], len(found["results"])) == (3, 3, 3)
    for result in found["results"]:
        assert sum(result["runs_by_space"].values()) == result["runs"]
    assert sum(result["runs"] for result in found["results"]) == found["runs"] == order["runs"] + runtime["runs"]
    shown = flowsim("explore", union, "--runs", "100").out
    assert [line.partition(" space (")[0] for line in shown.splitlines()[:2]] == ["order", "runtime"]


def test_run_with_random_costs_is_repeated_by_its_seed(flowsim: Any, tmp_path: Path) -> None:
    text = UNION.replace("expect: {every_schedule: {rows: {all: 3}}}", "settings: {buffer_timeout: 0}")
    (tmp_path / "costs.yaml").write_text(text)
    explore = ("explore", "costs.yaml", "--strategy", "costs", "--runs", "30", "--first-seed", "40", "--json")
    found = flowsim(*explore).document
    assert found["spaces"].keys() == {"runtime"}
    tokens = [result["token"] for result in found["results"] if result["token"].startswith("fx1.c.")]
    assert tokens
    for token, result in zip(tokens, found["results"][-len(tokens) :], strict=True):
        assert 40 <= int(token.rpartition(".")[2]) < 70
        again = flowsim(*shlex.split(result["replay"])[1:], "--out", "out", "--json").document
        assert [list(row.values()) for row in again["sinks"][0]["records"]] == result["sinks"]["all"][0]
        assert flowsim("replay", "out").code == 0
    refused = flowsim("explain", "costs.yaml", "--token", tokens[0])
    assert (refused.code, "strategy costs makes no choices to explain" in refused.err) == (ExitCode.BAD_INPUT, True)


def test_time_limit_holds_for_every_run_and_for_its_repetition(flowsim: Any, tmp_path: Path) -> None:
    timed = UNION.replace(
        "right: {collection: {fields: {n: long}, rows: [[3]]}}",
        "right: {script: {fields: {n: long}, gap: 100 ms, subtasks: [[{record: [3], step: 5}]]}}",
    ).replace("expect: {every_schedule: {rows: {all: 3}}}\n", "")
    (tmp_path / "timed.yaml").write_text(timed)
    called = flowsim("explore", "timed.yaml", "--space", "order", "--until", "200ms", "--json")
    (result,) = called.document["results"]
    assert (result["status"], len(result["sinks"]["all"][0])) == ("stopped", 2)
    assert "--until 200ms" in result["replay"]
    again = flowsim(*shlex.split(result["replay"])[1:], "--out", "out", "--json").document
    assert again["status"] == "stopped"
