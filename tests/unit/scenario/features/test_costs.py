"""``cost``: of every kind of node, by subtask and by record, and refused blocks (architecture decision D4)."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flowsim.facts.kinds import ElementKind, Level
from flowsim.scenario.features.sinks import SINK_KINDS
from flowsim.scenario.operators import OPERATOR_KINDS
from flowsim.scenario.runner import run_compiled
from flowsim.scenario.sources.sources import SOURCE_KINDS
from tests.support.jobs.scenarios import compiled, refused

NS_PER_MS = 1_000_000
HEAD = """\
flowsim: 1
name: costs
settings: {buffer_timeout: 0, budget_records: 1, policy: POLICY}
sources:
  orders:
    collection: {fields: {k: string, n: long}, rows: [[a, 1], [b, 20], [a, 300], [c, 40]]}
    watermarks: {timestamp: n, emit: every_record}
  rates:
    collection: {fields: {code: string, r: long}, rows: [[a, 5], [c, 70]]}
    watermarks: {timestamp: r, emit: every_record}
"""
WINDOW = "window: {tumbling: 10 ms}"
KEYS = "to: rates, key_by: [k, code]"
KINDS = {
    "map": "map: {select: {n: n}}",
    "filter": "filter: n > 1",
    "flat_map": "flat_map: {each: '(n, n)'}",
    "watermarks": "watermarks: {timestamp: n + 1}",
    "aggregate": f"key_by: k, {WINDOW}, aggregate: {{s: sum(n)}}",
    "reduce": "key_by: k, reduce: {n: sum}",
    "sum": "key_by: k, sum: n",
    "min": "key_by: k, min: n",
    "max": "key_by: k, max: n",
    "min_by": "key_by: k, min_by: n",
    "max_by": "key_by: k, max_by: n",
    "process": "key_by: k, process: {python: 'flowsim_user_code:Count', fields: {k: string, n: long}}",
    "alarm": "key_by: k, alarm: {after: 5 ms, emit: {n: n}}",
    "async": "async: {mode: ordered, latency: 2 ms, select: {n: n}}",
    "connect": f"connect: {{{KEYS}, map: [{{select: {{n: n}}}}, {{select: {{n: r}}}}]}}",
    "join": f"join: {{{KEYS}, {WINDOW}, select: {{n: left.n}}}}",
    "co_group": f"co_group: {{{KEYS}, {WINDOW}, left: {{n: count()}}, right: {{m: count()}}}}",
    "interval_join": f"interval_join: {{{KEYS}, lower: 0, upper: 10 ms, select: {{n: left.n}}}}",
    "broadcast": "broadcast: {to: rates, put: code, get: k, add: {r: right.r}, missing: {r: '0'}}",
}
TWO_INPUTS = ("connect", "join", "co_group", "interval_join", "broadcast")
SINKS = "sinks: {out: {input: two, chaining: never, collect: {}}}\n"


def digest(text: str, tmp_path: Path) -> str | None:
    return run_compiled(compiled(text, tmp_path, allow_python=True, allow_path=True), record=Level.FULL).digest


def costs(each: str) -> list[str]:
    """The same cost in four forms."""
    return [
        "3 ms",
        f"{{each: {each}}}",
        f"{{default: 9 s, subtasks: {{0-1: 3 ms, '2': {{each: {each}}}}}}}",
        f"{{each: {each}, subtasks: {{1: 3 ms}}}}",
    ]


def test_every_kind_of_operator_has_a_case() -> None:
    assert KINDS.keys() == OPERATOR_KINDS.keys()


@pytest.mark.parametrize("policy", ["fifo", "random"])
@pytest.mark.parametrize("kind", KINDS)
def test_forms_of_one_cost_of_an_operator_give_one_run(kind: str, policy: str, tmp_path: Path) -> None:
    """Also with a policy that scales the costs of each batch."""
    head = HEAD.replace("POLICY", policy)
    each = "[n * 0 + 3, r * 0 + 3]" if kind in TWO_INPUTS else "3"
    body = f"operators:\n  two: {{input: orders, parallelism: 3, cost: COST, {KINDS[kind]}}}\n" + SINKS
    given, *forms = [digest(head + body.replace("COST", cost), tmp_path) for cost in costs(each)]
    assert given is not None
    assert forms == [given] * 3
    assert digest(head + body.replace("COST", "4 ms"), tmp_path) != given


@pytest.mark.parametrize("policy", ["fifo", "random"])
def test_forms_of_one_cost_of_a_chained_operator_give_one_run(policy: str, tmp_path: Path) -> None:
    head = HEAD.replace("POLICY", policy)
    body = "operators: {two: {input: orders, cost: COST, map: {select: {n: n}}}}\n" + SINKS
    forms = ["3 ms", "{each: 3}", "{subtasks: {0: 3 ms}}", "{default: 1 ms, subtasks: {0: {each: 3}}}"]
    assert len({digest(head + body.replace("COST", cost), tmp_path) for cost in forms}) == 1


SOURCES = {
    "csv": "csv: {path: in.csv, columns: {n: long}}",
    "parquet": "parquet: {path: in.parquet}",
    "jsonl": "jsonl: {path: in.jsonl, fields: {n: long}}",
    "collection": "collection: {fields: {n: long}, rows: [[1], [2], [3]]}",
    "script": "script: {fields: {n: long}, subtasks: [[{record: [1]}, {record: [2], split: a}, {record: [3], split: b}]]}",
    "generator": "generator: {count: 5, fields: {n: {sequence: {}}}}",
    "partitioned_generator": "partitioned_generator: {partitions: [{rate: 100, records: 5}], fields: {n: {sequence: {}}}}",
    "python": "python: {function: 'flowsim_user_code:three_rows', fields: {k: string, n: long}}",
}


FORMS = ("", ", watermarks: {timestamp: n, emit: every_record}", ", legacy: true")


@pytest.mark.parametrize(
    ("kind", "settings"),
    # Only sources of the new kind assign splits while the job runs.
    [each for each in product(SOURCES, FORMS) if each != ("partitioned_generator", ", legacy: true")],
)
def test_forms_of_one_cost_of_a_source_give_one_run(kind: str, settings: str, tmp_path: Path) -> None:
    assert SOURCES.keys() == SOURCE_KINDS.keys()
    (tmp_path / "in.csv").write_text("n\n1\n2\n3\n")
    (tmp_path / "in.jsonl").write_text('{"n": 1}\n{"n": 2}\n')
    if kind == "parquet":
        pq.write_table(pa.table({"n": [1, 2, 3]}), tmp_path / "in.parquet")
    text = f"""\
flowsim: 1
name: costs
settings: {{buffer_timeout: 0, budget_records: 1, policy: random}}
sources: {{two: {{{SOURCES[kind].replace("path: ", f"path: {tmp_path}/")}, cost: COST{settings}}}}}
{SINKS}"""
    given, *forms = [
        digest(text.replace("COST", cost), tmp_path) for cost in ("3 ms", "{each: n * 0 + 3}", "{subtasks: {0: 3 ms}}")
    ]
    assert given is not None
    assert forms == [given] * 2


@pytest.mark.parametrize("kind", [kind for kind in SINK_KINDS if kind != "postgres"])
@pytest.mark.parametrize("checkpointing", ["", ", checkpointing: {interval: 10 ms}"])
def test_forms_of_one_cost_of_a_sink_give_one_run(kind: str, checkpointing: str, tmp_path: Path) -> None:
    head = HEAD.replace("POLICY", f"random{checkpointing}")
    body = f"sinks: {{out: {{input: orders, parallelism: 3, cost: COST, {kind}: {{}}}}}}\n"
    given, *forms = [digest(head + body.replace("COST", cost), tmp_path) for cost in costs("3")]
    assert given is not None
    assert forms == [given] * 3


def test_one_slow_subtask_behind_a_rebalance_receives_its_share_and_ends_last(tmp_path: Path) -> None:
    text = """\
flowsim: 1
name: slow-subtask
settings: {buffer_timeout: 0}
sources: {numbers: {generator: {count: 30, fields: {n: {sequence: {}}}}, cost: 0}}
operators:
  two: {input: numbers, partition: rebalance, parallelism: 3, cost: {default: 1 ms, subtasks: {1: 50 ms}}, map: {add: {m: n}}}
"""
    run = run_compiled(
        compiled(text + SINKS.replace("input", "parallelism: 3, input"), tmp_path), record=Level.ELEMENTS
    )
    assert run.facts is not None
    sent: dict[int, list[int]] = {}
    for row in run.facts.rows("sent"):
        if row[1] > 0 and row[5] == ElementKind.RECORD:
            sent.setdefault(row[1], []).append(row[2])
    ends = sorted((times[-1] - 1_000_000_000) // NS_PER_MS for times in sent.values())
    assert [len(times) for times in sent.values()] == [10, 10, 10]
    assert ends == [10, 10, 500]


def test_each_record_takes_the_time_that_its_expression_gives(tmp_path: Path) -> None:
    text = """\
flowsim: 1
name: costs
settings: {buffer_timeout: 0, record: full}
sources: {rows: {collection: {fields: {n: double}, rows: [[5], [0.5], [0], [20]]}, cost: 0}}
operators: {two: {input: rows, chaining: never, cost: {each: n}, filter: "True"}}
sinks: {out: {input: two, cost: 0, chaining: never, collect: {}}}
"""
    run = run_compiled(compiled(text, tmp_path), record=Level.FULL)
    assert run.facts is not None
    times = [
        row[2] - 1_000_000_000 for row in sorted(run.facts.rows("sent")) if row[1] == 1 and row[5] == ElementKind.RECORD
    ]
    assert times == [5_000_000, 5_500_000, 5_500_000, 25_500_000]


@pytest.mark.parametrize("each", ["n - 2", "1 / (n - 1)"])
@pytest.mark.parametrize("node", ["two", "rows", "out"])
def test_cost_that_is_no_duration_fails_the_job_with_operator_and_record(node: str, each: str, tmp_path: Path) -> None:
    lines = dict.fromkeys(("rows", "two", "out"), "") | {node: f"cost: {{each: {each}}}, "}
    text = f"""\
flowsim: 1
name: costs
sources: {{rows: {{{lines["rows"]}collection: {{fields: {{n: long}}, rows: [[5], [1]]}}}}}}
operators: {{two: {{input: rows, {lines["two"]}filter: "True"}}}}
sinks: {{out: {{input: two, {lines["out"]}collect: {{}}}}}}
"""
    run = run_compiled(compiled(text, tmp_path), record=Level.OFF)
    assert run.result.status.value == "failed"
    name = {"rows": "Source: rows", "two": "two", "out": "Sink: out"}[node]
    message = str(run.result.error)
    assert name in message
    assert "(1,)" in message
    if each == "n - 2":
        assert "the cost of a record: expected milliseconds of at least 0, got -1" in message


def test_costs_take_no_time_on_the_real_clock(tmp_path: Path) -> None:
    text = HEAD.replace("POLICY", "fifo, clock: real") + SINKS.replace("two", "orders").replace(
        "chaining", "cost: {each: 3600000}, chaining"
    )
    run = run_compiled(compiled(text, tmp_path), record=Level.OFF)
    assert run.sinks[0].rows == 4
    assert run.result.elapsed_ns < 60 * 1_000_000_000


AT = "s.yaml:12:"
UNKNOWN = "unknown name 'q' (known: {}, value, timestamp), at character 1 of 'q'"
UNITS = "ns, us, ms, s, sec, min, h, d)"


@pytest.mark.parametrize(
    ("cost", "column", "path", "problem"),
    [
        ("-1 ms", 30, "", "expected a duration of at least 0 ns and at most 146 years, got '-1 ms'"),
        ("5", 30, "", "expected a duration such as '100 ms', got 5"),
        ("[1 ms]", 30, "", "expected a duration such as '100 ms', got a list of 1"),
        ("{}", 30, "", "expected default, each or subtasks"),
        ("{default: 1 ms, each: n}", 30, "", "expected one of default and each"),
        ("{default: 1 h 3}", 40, ".default", "expected a duration such as '100 ms' (units: " + UNITS + ", got '1 h 3'"),
        ("{defalt: 1 ms}", 31, ".defalt", "unknown key 'defalt' (did you mean 'default'?)"),
        ("{each: k}", 37, ".each", "expected milliseconds as a number, got string"),
        ("{each: timestamp}", 37, ".each", "a cost cannot read the timestamp: add it as a field in an earlier map"),
        ("{each: m}", 37, ".each", "unknown name 'm' (known: k, n, value, timestamp), at character 1 of 'm'"),
        ("{each: [n, n]}", 37, ".each", "expected one expression: there is one input"),
        ("{subtasks: {}}", 41, ".subtasks", "expected at least 1 entry, got a mapping of 0"),
        ("{subtasks: {3: 1 ms}}", 42, ".subtasks.3", "there is no subtask 3: the parallelism is 3, with subtasks 0 to 2"),
        ("{subtasks: {1-3: 1 ms}}", 42, ".subtasks.1-3", "there is no subtask 3: the parallelism is 3, with subtasks 0 to 2"),
        ("{subtasks: {2-1: 1 ms}}", 42, ".subtasks.2-1", "expected FIRST-LAST with FIRST <= LAST, got 2-1"),
        ("{subtasks: {0-1: 1 ms, 1: 2 ms}}", 53, ".subtasks.1", "subtask 1 has a cost already"),
        ("{subtasks: {-1: 1 ms}}", 42, ".subtasks.-1", "expected the index of a subtask, from 0, or FIRST-LAST, got '-1'"),
        ("{subtasks: {a: 1 ms}}", 42, ".subtasks.a", "expected the index of a subtask, from 0, or FIRST-LAST, got 'a'"),
        ("{subtasks: {1: fast}}", 45, ".subtasks.1", "expected a duration such as '100 ms' (units: " + UNITS + ", got 'fast'"),
        ("{subtasks: {1: -2 ms}}", 45, ".subtasks.1", "expected a duration of at least 0 ns and at most 146 years, got '-2 ms'"),
        ("{subtasks: {1: {each: q}}}", 52, ".subtasks.1.each", UNKNOWN.format("k, n")),
    ],
)  # fmt: skip
def test_invalid_cost_is_refused_with_position(cost: str, column: int, path: str, problem: str, tmp_path: Path) -> None:
    head = HEAD.replace("POLICY", "fifo")
    body = f"operators:\n  two: {{input: orders, cost: {cost}, parallelism: 3, filter: true}}\n"
    assert refused(head + body + SINKS, tmp_path) == [f"{AT}{column} operators.two.cost{path}: {problem}"]


@pytest.mark.parametrize(
    ("cost", "place", "problem"),
    [
        ("{each: n}", "12:37 operators.two.cost.each", "expected a list of 2 expressions, one for each input"),
        ("{each: [n, q]}", "12:41 operators.two.cost.each[1]", UNKNOWN.format("code, r")),
        ("{each: [n, r, n]}", "12:37 operators.two.cost.each", "expected a list of 2 expressions, one for each input"),
        ("{each: [n]}", "12:37 operators.two.cost.each", "expected a list of 2 expressions, one for each input"),
    ],
)  # fmt: skip
def test_cost_of_two_inputs_needs_an_expression_for_each(cost: str, place: str, problem: str, tmp_path: Path) -> None:
    head = HEAD.replace("POLICY", "fifo")
    body = f"operators:\n  two: {{input: orders, cost: {cost}, {KINDS['connect']}}}\n"
    assert refused(head + body + SINKS, tmp_path) == [f"s.yaml:{place}: {problem}"]


@pytest.mark.parametrize(
    ("cost", "accepted"),
    [
        ("1 ns", True),
        ("0", False),
        ("{each: n}", False),
        ("{subtasks: {1: 0}}", False),
        ("{subtasks: {1: 1 ns}}", True),
    ],
)
def test_endless_source_needs_costs_that_are_certainly_above_zero(cost: str, accepted: bool, tmp_path: Path) -> None:
    text = f"""\
flowsim: 1
name: costs
settings: {{until: 1 ms}}
sources: {{two: {{generator: {{fields: {{n: {{sequence: {{}}}}}}}}, parallelism: 2, cost: {cost}}}}}
{SINKS}"""
    if accepted:
        compiled(text, tmp_path)
    else:
        (line,) = refused(text, tmp_path)
        assert line.endswith("operator 'Source: two': an endless source needs a pace or a cost above 0")
