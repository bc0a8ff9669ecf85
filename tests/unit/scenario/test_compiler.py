"""From a scenario to a job: what it computes when it runs, and what is refused before it does."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from flowsim.cluster.mini_cluster import MiniCluster, execute
from flowsim.cluster.run_actions import CancelJob, StopJob
from flowsim.cluster.run_options import JobStatus
from flowsim.errors import ScenarioError
from flowsim.facts.kinds import Level
from flowsim.scenario.compiled import CompiledScenario
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_scenario, load_text

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent / "data"
HEAD = """\
flowsim: 1
name: test
sources:
  rows:
    collection:
      fields: {word: string, n: long, ratio: double}
      rows:
        - [b, 1, 0.5]
        - [a, 2, 1]
        - [b, 12, 2.5]
        - [a, 3, null]
    watermarks: {timestamp: n * 1000, emit: every_record}
"""


def compiled(
    text: str, tmp_path: Path, folder: Path = HERE, *, allow_python: bool = False, allow_path: bool = False
) -> CompiledScenario:
    scenario = load_text(text, "s.yaml", folder)
    return compile_scenario(scenario, out_dir=tmp_path / "out", allow_python=allow_python, allow_path=allow_path)


def results(body: str, tmp_path: Path, *, allow_python: bool = False, head: str = HEAD) -> dict[str, list[object]]:
    job = compiled(head + body, tmp_path, allow_python=allow_python)
    result = execute(job.stream_graph(), job.run_options())
    assert (result.status, result.error) == (JobStatus.FINISHED, None)
    return {sink.name: sink.collected.values() for sink in job.sinks if sink.collected is not None}


def refused(text: str, tmp_path: Path, folder: Path = HERE, *, allow_python: bool = False) -> list[str]:
    with pytest.raises(ScenarioError) as error:
        compiled(text, tmp_path, folder, allow_python=allow_python)
    return str(error.value).splitlines()


def sinks(**inputs: str) -> str:
    return "sinks:\n" + "".join(f"  {name}: {{input: {stream}, collect: {{}}}}\n" for name, stream in inputs.items())


def test_maps_filters_and_flat_maps_compute_their_expressions(tmp_path: Path) -> None:
    body = """\
operators:
  added: {input: rows, map: {add: {both: "f'{word}{n}'", n: n + 1, at: timestamp}}}
  selected: {input: added, map: {select: {both: both, at: at}}}
  large: {input: rows, filter: n > 1 and word != 'b'}
  stamped: {input: rows, filter: timestamp >= 3000}
  letters: {input: selected, flat_map: {each: "(both, 'x')", into: text, type: string, keep: [at]}}
  times: {input: rows, flat_map: {each: "[timestamp]", type: long}}
"""
    found = results(body + sinks(a="selected", b="large", c="stamped", d="letters", e="times"), tmp_path)
    assert found["a"] == [("b1", 1000), ("a2", 2000), ("b12", 12000), ("a3", 3000)]
    assert found["b"] == [("a", 2, 1.0), ("a", 3, None)]
    assert found["c"] == [("b", 12, 2.5), ("a", 3, None)]
    assert found["d"][:4] == [(1000, "b1"), (1000, "x"), (2000, "a2"), (2000, "x")]
    assert found["e"] == [(1000,), (2000,), (12000,), (3000,)]


def test_windows_aggregate_and_keep_what_is_late(tmp_path: Path) -> None:
    body = """\
operators:
  per_word:
    input: rows
    key_by: word
    window: {tumbling: 10 s, late_output: late}
    aggregate: {rows: count(), total: sum(n), mean: avg(ratio)}
  by_two:
    input: rows
    key_by: {kind: word + '!', even: n % 2 == 0}
    window: {tumbling: 20 s, offset: 5 s, allowed_lateness: 1 h}
    aggregate: {most: max(n)}
"""
    found = results(body + sinks(windows="per_word", late="per_word.late", two="by_two"), tmp_path)
    assert found["windows"] == [
        ("b", 0, 10_000, 1, 1, 0.5),
        ("a", 0, 10_000, 1, 2, 1.0),
        ("b", 10_000, 20_000, 1, 12, 2.5),
    ]
    assert found["late"] == [("a", 3, None)]
    assert sorted(found["two"], key=repr) == [
        ("a!", False, -15_000, 5_000, 3),
        ("a!", True, -15_000, 5_000, 2),
        ("b!", False, -15_000, 5_000, 1),
        ("b!", True, 5_000, 25_000, 12),
    ]


def test_a_reduce_combines_field_by_field(tmp_path: Path) -> None:
    body = "operators:\n  sums: {input: rows, key_by: [word], reduce: {n: sum, ratio: last}}\n"
    assert results(body + sinks(out="sums"), tmp_path)["out"] == [
        ("b", 1, 0.5), ("a", 2, 1.0), ("b", 13, 2.5), ("a", 5, None),
    ]  # fmt: skip


def test_a_union_and_every_partitioner_lose_nothing(tmp_path: Path) -> None:
    body = "operators:\n  all: {input: [rows, rows], filter: true}\n"
    for name in ("forward", "rebalance", "rescale", "shuffle", "broadcast", "global"):
        body += f"  by_{name}: {{input: all, partition: {name}, filter: true, chaining: never, buffer_timeout: 0 ms}}\n"
    names = ("forward", "rebalance", "rescale", "shuffle", "broadcast", "global")
    found = results(body + sinks(**{name: f"by_{name}" for name in names}), tmp_path)
    assert {name: len(values) for name, values in found.items()} == dict.fromkeys(names, 8)


def custom(reference: str, key: str = "word") -> str:
    return f"""\
operators:
  subtasks:
    input: rows
    partition: {{python: "flowsim_user_code:{reference}", key: {key}}}
    filter: true
    parallelism: 3
""" + sinks(out="subtasks")


def test_a_custom_partition_is_a_python_function_of_key_and_number_of_subtasks(tmp_path: Path) -> None:
    job = compiled(HEAD + custom("last_for_b"), tmp_path, allow_python=True)
    result = execute(job.stream_graph(), job.run_options())
    read = {task.name: task.records_in for task in result.tasks if task.name.startswith("subtasks")}
    assert read == {"subtasks (1/3)": 2, "subtasks (2/3)": 0, "subtasks (3/3)": 2}


def test_a_custom_partition_that_leaves_the_subtasks_fails_the_job(tmp_path: Path) -> None:
    job = compiled(HEAD + custom("Outside"), tmp_path, allow_python=True)
    result = MiniCluster(job.stream_graph(), job.run_options()).run()
    assert result.status is JobStatus.FAILED
    assert "the custom partitioner chose channel 3 of 3" in str(result.error)


@pytest.mark.parametrize(
    ("reference", "key", "allowed", "problem"),
    [
        (
            "last_for_b",
            "word",
            False,
            "partition.python: flowsim_user_code:last_for_b is Python code and runs only with",
        ),
        ("last_for_b", "timestamp", True, "partition.key: a key does not see the timestamp"),
        ("last_for_b", "wort", True, "partition.key: unknown name 'wort' (did you mean 'word'?)"),
        ("Split", "word", True, "partition.python: flowsim_user_code:Split: expected a function or a Partitioner"),
        ("Opened", "word", True, "partition.python: partition_custom: a Partitioner is never opened or closed"),
    ],
)
def test_a_custom_partition_that_cannot_be_is_refused_where_it_stands(
    reference: str, key: str, allowed: bool, problem: str, tmp_path: Path
) -> None:
    (line,) = refused(HEAD + custom(reference, key), tmp_path, allow_python=allowed)[:1]
    assert f"operators.subtasks.{problem}" in line


def test_python_functions_run_when_they_are_allowed(tmp_path: Path) -> None:
    head = """\
flowsim: 1
name: test
sources:
  rows: {python: {function: "flowsim_user_code:three_rows", fields: {word: string, n: long}}}
"""
    fields = "fields: {word: string, n: long}"
    body = f"""\
operators:
  doubled: {{input: rows, map: {{python: "flowsim_user_code:double", {fields}}}}}
  small: {{input: doubled, filter: {{python: "flowsim_user_code:is_small"}}}}
  twice: {{input: small, flat_map: {{python: "flowsim_user_code:twice", {fields}}}}}
  split:
    input: rows
    process: {{python: "flowsim_user_code:Split", {fields}, side_outputs: {{large: {{n: long}}}}}}
  counted: {{input: rows, key_by: word, process: {{python: "flowsim_user_code:Count", {fields}}}}}
  timed: {{input: rows, watermarks: {{timestamp: n}}}}
  sizes:
    input: timed
    key_by: word
    window: {{tumbling: 10 ms}}
    process: {{python: "flowsim_user_code:Sizes", {fields}}}
"""
    streams = sinks(a="twice", b="split", c="split.large", d="counted", e="sizes")
    found = results(body + streams, tmp_path, allow_python=True, head=head)
    assert found["a"] == [("a", 2), ("a", 2), ("b", 4), ("b", 4)]
    assert (found["b"], found["c"]) == ([("a", 1), ("b", 2)], [(30,)])
    assert found["d"] == [("a", 1), ("b", 1), ("a", 1)]
    assert sorted(found["e"], key=repr) == [("a", 1), ("a", 1), ("b", 1)]
    lines = refused(head + body + streams, tmp_path)
    assert lines == [
        (
            "s.yaml:4:29 sources.rows.python.function: flowsim_user_code:three_rows is Python code and runs only with "
            "--allow-python"
        )
    ]


def test_a_script_says_what_each_subtask_does(tmp_path: Path) -> None:
    head = """\
flowsim: 1
name: test
sources:
  rows:
    script:
      fields: {word: string}
      subtasks:
        - - {record: [a], timestamp: 5, step: 0}
          - {watermark: 20, step: 2}
          - {idle: true}
          - {sleep: 5 ms}
          - {end: true}
        - - {record: [a], timestamp: 7, step: 1}
          - {watermark: 30, step: 3}
"""
    body = """\
operators:
  counted: {input: rows, key_by: word, window: {tumbling: 10 ms}, aggregate: {rows: count()}}
"""
    assert results(body + sinks(out="counted"), tmp_path, head=head)["out"] == [("a", 0, 10, 2)]


def test_a_generator_draws_the_same_records_from_the_same_seed(tmp_path: Path) -> None:
    head = """\
flowsim: 1
name: test
sources:
  rows:
    parallelism: 2
    generator:
      count: 50
      pace: 10 us
      fields:
        index: {sequence: {start: 100, step: 2}}
        when: {event_time: {step: 10 ms, jitter: 30 ms}}
        key: {choice: {values: [a, b]}}
        flag: {choice: {values: [true, false], weights: [1, 3]}}
        whole: {uniform: {low: 1, high: 6}}
        share: {uniform: {low: 0, high: 1.5}}
        noise: {normal: {mean: 0, standard_deviation: 1}}
"""
    first, second = (results(sinks(out="rows"), tmp_path, head=head)["out"] for _ in range(2))
    assert first == second
    rows = [row for row in first if isinstance(row, tuple)]
    assert sorted(row[0] for row in rows) == list(range(100, 200, 2))
    assert {tuple(type(cell) for cell in row) for row in rows} == {(int, int, str, bool, int, float, float)}


def test_settings_reach_the_job_and_the_run(tmp_path: Path) -> None:
    settings = """\
settings: {seed: 9, policy: random, until: 2 s, record: full, parallelism: 2, max_parallelism: 16, buffer_timeout: never,
  segment_size: 2 KiB, network_buffers: 500, cost: 3 us, operator_chaining: false, budget_records: 7, task_managers: one}
faults: [{fault: drop_element, operator: kept, at: 3}]
operators:
  kept: {input: rows, filter: true, cost: 9 us, max_parallelism: 4, buffer_timeout: 5 ms, chaining: head}
"""
    job = compiled(HEAD + settings + sinks(out="kept"), tmp_path)
    graph = job.stream_graph()
    node = next(node for node in graph.nodes.values() if node.name == "kept")
    assert (node.parallelism, node.max_parallelism, node.cost_ns, node.buffer_timeout_ms) == (2, 4, 9000, 5)
    assert (graph.settings.segment_size_bytes, graph.settings.buffer_timeout_ms, graph.settings.cost_ns) == (
        2048,
        -1,
        3000,
    )
    assert (graph.settings.network_buffers, graph.settings.operator_chaining) == (500, False)
    assert (graph.settings.budget_records, graph.settings.task_managers) == (7, "one")
    options = job.run_options()
    assert (options.seed, options.policy, options.until_ns, job.run.record) == (9, "random", 2_000_000_000, Level.FULL)
    assert [(fault.fault, fault.operator, fault.at) for fault in options.faults] == [("drop_element", "kept", 3)]


def test_files_are_read_and_written_where_they_belong(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("word,n\na,1\nb,2\n")
    text = """\
flowsim: 1
name: test
sources: {rows: {csv: {path: in.csv, columns: {n: long, word: string}}}}
sinks: {kept: {input: rows, parquet: {}}, other: {input: rows, csv: {path: a/b}}}
"""
    job = compiled(text, tmp_path, tmp_path)
    digest = hashlib.sha256(b"word,n\na,1\nb,2\n").hexdigest()
    assert [(found.name, found.sha256) for found in job.inputs] == [("in.csv", digest)]
    assert execute(job.stream_graph(), job.run_options()).status is JobStatus.FINISHED
    assert pq.read_table(tmp_path / "out" / "sinks" / "kept").to_pylist() == [
        {"n": 1, "word": "a"},
        {"n": 2, "word": "b"},
    ]
    assert (tmp_path / "out" / "a" / "b" / "part-0.csv").read_text() == "n,word\n1,a\n2,b\n"


@pytest.mark.parametrize("name", ["../in.csv", "/etc/hostname", "link.csv", "folder", "missing.csv", "a\\0b"])
def test_inputs_outside_the_folder_and_odd_files_are_refused(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "scenario"
    (folder / "folder").mkdir(parents=True)
    (tmp_path / "in.csv").write_text("n\n1\n")
    (folder / "link.csv").symlink_to(tmp_path / "in.csv")
    text = f'flowsim: 1\nname: t\nsources: {{rows: {{csv: {{path: "{name}", columns: {{n: long}}}}}}}}\n' + sinks(
        out="rows"
    )
    (line,) = refused(text, tmp_path, folder)
    assert line.startswith("s.yaml:3:30 sources.rows.csv.path: ")
    if name in ("../in.csv", "link.csv"):
        assert compiled(text, tmp_path, folder, allow_path=True).inputs[0].path == (tmp_path / "in.csv").resolve()


@pytest.mark.parametrize(
    "name", ["../elsewhere", "/tmp/elsewhere", "recording", "recording/x", "run.json", ".", "link"]
)
def test_outputs_outside_the_output_folder_are_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "link").symlink_to(tmp_path)
    text = "flowsim: 1\nname: t\nsources: {rows: {collection: {fields: {n: long}, rows: []}}}\n"
    text += f"sinks: {{out: {{input: rows, parquet: {{path: {name}}}}}}}\n"
    (line,) = refused(text, tmp_path)
    assert line.startswith("s.yaml:4:44 sinks.out.parquet.path: ")


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        (
            "operators:\n  x: {input: rows, filter: wrod == 'a'}\n  y: {input: x, map: {add: {z: 1}}}\n" + sinks(o="y"),
            [
                (
                    "s.yaml:14:28 operators.x.filter: unknown name 'wrod' (did you mean 'word'?), "
                    "at character 1 of \"wrod == 'a'\""
                )
            ],
        ),
        (
            'operators:\n  x: {input: rows, map: {add: {a: n, b: "n + dlay"}}}\n' + sinks(o="x"),
            [
                (
                    "s.yaml:14:46 operators.x.map.add.b: unknown name 'dlay' (known: word, n, ratio, value, timestamp), "
                    "at character 5 of 'n + dlay'"
                )
            ],
        ),
        (sinks(o="rwos"), ["s.yaml:14:14 sinks.o.input: there is no stream 'rwos' above (did you mean 'rows'?)"]),
        (
            "operators:\n  x: {input: rows, filter: n}\n" + sinks(o="x"),
            ["s.yaml:14:28 operators.x.filter: expected a condition, this expression gives long"],
        ),
        (
            "operators:\n  x: {input: rows, key_by: timestamp, reduce: {n: sum}}\n" + sinks(o="x"),
            ["s.yaml:14:28 operators.x.key_by: a key does not see the timestamp: add it as a field in a map before"],
        ),
        (
            "operators:\n  x: {input: rows, key_by: word, reduce: {m: sum}}\n" + sinks(o="x"),
            [
                (
                    "s.yaml:14:46 operators.x.reduce.m: there is no field 'm' (known: word, n, ratio), "
                    "at character 1 of 'sum'"
                )
            ],
        ),
        (
            'operators:\n  x: {input: rows, map: {select: {t: "(n, n)"}}}\nsinks: {o: {input: x, parquet: {}}}\n',
            [
                (
                    "s.yaml:15:32 sinks.o.parquet: field 't' has no known type: make it one by str(...), int(...), "
                    "float(...) or bool(...)"
                )
            ],
        ),
        (
            "operators:\n  x: {input: rows, key_by: word, window: {tumbling: 1 s}, aggregate: {word: count()}}\n"
            + sinks(o="x"),
            [
                (
                    "s.yaml:14:77 operators.x.aggregate.word: 'word' is a field of the result already "
                    "(word, window_start_ms, window_end_ms)"
                )
            ],
        ),
        (
            "operators:\n  x: {input: rows, parallelism: 9, max_parallelism: 8, filter: true}\n" + sinks(o="x"),
            ["s.yaml:14:53 operators.x.max_parallelism: expected at least the parallelism 9, got 8"],
        ),
        (
            "operators:\n  x: {input: rows, partition: forward, parallelism: 2, filter: true}\n" + sinks(o="x"),
            [
                (
                    "s.yaml:1:1 the document: operator 'x': forward from Source: rows (parallelism 1) to x (parallelism 2): "
                    "a forward edge needs equal parallelism"
                )
            ],
        ),
        (
            "operators:\n  a: {input: rows, parallelism: 4000, filter: true}\n"
            "  b: {input: a, partition: rebalance, parallelism: 4000, filter: true}\n" + sinks(o="b"),
            ["s.yaml:1:1 settings: the job has 16008000 channels, expected at most 4000000"],
        ),
        (
            "operators:\n  a: {input: rows, map: {select: {n: n}}}\n  b: {input: [a, rows], filter: true}\n"
            + sinks(o="b"),
            ["s.yaml:15:18 operators.b.input[1]: its fields differ from those of a: a union needs the same fields"],
        ),
        (
            "operators:\n  rows: {input: rows, filter: true}\n" + sinks(o="rows"),
            ["s.yaml:14:3 operators.rows: a source has this name already"],
        ),
        (
            sinks(o="rows") + "faults: [{fault: drop_elemnt, operator: row}]\n",
            [
                "s.yaml:15:18 faults[0].fault: there is no fault 'drop_elemnt' (did you mean 'drop_element'?)",
                "s.yaml:15:41 faults[0].operator: there is no node 'row' (did you mean 'rows'?)",
            ],
        ),
        (
            sinks(o="rows")
            + "expect: {laws: {channel-fif: holds}, rows: {p: 1}, back_pressured_at_least: {rwos: 0.5}}\n",
            [
                "s.yaml:15:17 expect.laws.channel-fif: there is no law 'channel-fif' (did you mean 'channel-fifo'?)",
                "s.yaml:15:45 expect.rows.p: there is no sink 'p' (known: o)",
                "s.yaml:15:78 expect.back_pressured_at_least.rwos: there is no node 'rwos' (did you mean 'rows'?)",
            ],
        ),
        (
            sinks(o="rows") + "recompute: {pyspark: 'x.py:check', input: rows}\n",
            ["s.yaml:15:43 recompute.input: there is no csv source 'rows'"],
        ),
    ],
)
def test_what_cannot_work_is_refused_with_its_place(body: str, errors: list[str], tmp_path: Path) -> None:
    assert refused(HEAD + body, tmp_path) == errors


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("- [b, 1, 0.5]", "- [b, 1]", "s.yaml:8:11 sources.rows.collection.rows[0]: expected 3 values (word, n, ratio), got 2"),
        ("- [b, 1, 0.5]", "- [1, 1, 0.5]", "s.yaml:8:12 sources.rows.collection.rows[0][0]: expected a string for word, got 1"),
        ("- [b, 1, 0.5]", "- [b, 1.5, 1]", "s.yaml:8:15 sources.rows.collection.rows[0][1]: expected a long for n, got 1.5"),
        ("n * 1000", "word", "s.yaml:12:29 sources.rows.watermarks.timestamp: expected milliseconds as an integer, got string"),
        (
            "    watermarks", "    parallelism: 3\n    watermarks",
            "s.yaml:12:18 sources.rows.parallelism: ",
        ),
    ],
)  # fmt: skip
def test_a_source_that_cannot_work_is_refused(old: str, new: str, error: str, tmp_path: Path) -> None:
    (line,) = refused(HEAD.replace(old, new, 1) + sinks(o="rows"), tmp_path)
    assert line.startswith(error)


def test_an_endless_generator_needs_an_end(tmp_path: Path) -> None:
    text = "flowsim: 1\nname: t\nsources: {s: {generator: {pace: 1 ms, fields: {n: {sequence: {}}}}}}\n" + sinks(o="s")
    (line,) = refused(text, tmp_path)
    assert line.endswith(
        "an endless generator needs settings.until, or an action that ends the job (or give it a count)"
    )
    assert compiled(text + "settings: {until: 1 s}\n", tmp_path).run.until_ns == 1_000_000_000
    assert compiled(text + "actions: [{stop: {at: 1 s}}]\n", tmp_path).actions == (StopJob(1_000_000_000),)


def test_actions_are_read_with_their_times(tmp_path: Path) -> None:
    text = "flowsim: 1\nname: t\nsources: {s: {collection: {fields: {n: long}, rows: []}}}\n" + sinks(o="s")
    job = compiled(text + "actions: [{stop: {at: 5 s, drain: true}}, {cancel: {at: 3 ms}}]\n", tmp_path)
    assert job.actions == (StopJob(5_000_000_000, drain=True), CancelJob(3_000_000))
    (line,) = refused(text + "actions: [{stop: {at: 1 s}, cancel: {at: 1 s}}]\n", tmp_path)
    assert line.endswith("actions[0]: expected one of stop, cancel, got stop and cancel")


@pytest.mark.parametrize("path", sorted((ROOT / "scenarios").glob("*.yaml")), ids=lambda path: path.stem)
def test_a_shipped_scenario_compiles(path: Path, tmp_path: Path) -> None:
    job = compile_scenario(load_scenario(path), out_dir=tmp_path)
    assert job.expect.laws
    assert list(tmp_path.iterdir()) == [], "compiling writes nothing"
