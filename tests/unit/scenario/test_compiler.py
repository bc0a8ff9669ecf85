"""Compiled scenarios: their settings, and their results when they run."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from flowsim.cluster.job_execution import JobStatus
from flowsim.cluster.mini_cluster import execute
from flowsim.cluster.run_actions import CancelJob, StopJob
from flowsim.facts.kinds import Level
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_scenario
from tests.support.jobs.scenarios import HEAD, compiled, refused, results, sinks

ROOT = Path(__file__).parents[3]


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


def test_windows_aggregate_and_keep_late_records(tmp_path: Path) -> None:
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


def test_reduce_combines_field_by_field(tmp_path: Path) -> None:
    body = "operators:\n  sums: {input: rows, key_by: [word], reduce: {n: sum, ratio: last}}\n"
    assert results(body + sinks(out="sums"), tmp_path)["out"] == [
        ("b", 1, 0.5), ("a", 2, 1.0), ("b", 13, 2.5), ("a", 5, None),
    ]  # fmt: skip


def test_union_and_every_partitioner_lose_no_record(tmp_path: Path) -> None:
    body = "operators:\n  all: {input: [rows, rows], filter: true}\n"
    for name in ("forward", "rebalance", "rescale", "shuffle", "broadcast", "global"):
        body += f"  by_{name}: {{input: all, partition: {name}, filter: true, chaining: never, buffer_timeout: 0 ms}}\n"
    names = ("forward", "rebalance", "rescale", "shuffle", "broadcast", "global")
    found = results(body + sinks(**{name: f"by_{name}" for name in names}), tmp_path)
    assert {name: len(values) for name, values in found.items()} == dict.fromkeys(names, 8)


def test_python_functions_run_only_when_allowed(tmp_path: Path) -> None:
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


def test_script_source_emits_entries_of_each_subtask(tmp_path: Path) -> None:
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


def test_equal_seeds_generate_equal_records(tmp_path: Path) -> None:
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


def test_settings_reach_job_and_run(tmp_path: Path) -> None:
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
    assert [(fault.fault, fault.operator, fault.at) for fault in job.faults] == [("drop_element", "kept", 3)]


def test_files_are_read_and_written_in_their_folders(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("word,n\na,1\nb,2\n")
    text = """\
flowsim: 1
name: test
sources: {rows: {csv: {path: in.csv, columns: {n: long, word: string}}}}
sinks: {kept: {input: rows, parquet: {}}, other: {input: rows, csv: {path: a/b}}}
"""
    job = compiled(text, tmp_path, tmp_path)
    digest = hashlib.sha256(b"word,n\na,1\nb,2\n").hexdigest()
    assert [(found.name, found.sha256()) for found in job.inputs] == [("in.csv", digest)]
    assert execute(job.stream_graph(), job.run_options()).status is JobStatus.FINISHED
    assert pq.read_table(tmp_path / "out" / "sinks" / "kept").to_pylist() == [
        {"n": 1, "word": "a"},
        {"n": 2, "word": "b"},
    ]
    assert (tmp_path / "out" / "a" / "b" / "part-0.csv").read_text() == "n,word\n1,a\n2,b\n"


def test_endless_generator_needs_until_or_ending_action(tmp_path: Path) -> None:
    text = "flowsim: 1\nname: t\nsources: {s: {generator: {pace: 1 ms, fields: {n: {sequence: {}}}}}}\n" + sinks(o="s")
    (line,) = refused(text, tmp_path)
    assert line.endswith(
        "an endless generator needs settings.until or --until, or an action that ends the job (or give it a count)"
    )
    assert compiled(text + "settings: {until: 1 s}\n", tmp_path).run.until_ns == 1_000_000_000
    assert compiled(text + "actions: [{stop: {at: 1 s}}]\n", tmp_path).actions == (StopJob(1_000_000_000),)


def test_actions_have_their_times(tmp_path: Path) -> None:
    text = "flowsim: 1\nname: t\nsources: {s: {collection: {fields: {n: long}, rows: []}}}\n" + sinks(o="s")
    job = compiled(text + "actions: [{stop: {at: 5 s, drain: true}}, {cancel: {at: 3 ms}}]\n", tmp_path)
    assert job.actions == (StopJob(5_000_000_000, drain=True), CancelJob(3_000_000))
    (line,) = refused(text + "actions: [{stop: {at: 1 s}, cancel: {at: 1 s}}]\n", tmp_path)
    assert line.endswith("actions[0]: expected one of stop, cancel, checkpoint, savepoint, got stop and cancel")


def test_checkpoint_ends_no_job_and_replaces_snapshot(tmp_path: Path) -> None:
    text = "flowsim: 1\nname: t\nsources: {s: {generator: {pace: 1 ms, fields: {n: {sequence: {}}}}}}\n" + sinks(o="s")
    (line,) = refused(text + "actions: [{checkpoint: {at: 1 s}}]\n", tmp_path)
    assert line.endswith("an action that ends the job (or give it a count)")
    (line,) = refused(text + "actions: [{snapshot: {at: 1 s, task: o}}, {cancel: {at: 2 s}}]\n", tmp_path)
    assert "actions[0]: there is no action snapshot any more: use checkpoint: {at: ...}, and show what" in line


@pytest.mark.parametrize("path", sorted((ROOT / "scenarios").glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_scenario_compiles_without_writing(path: Path, tmp_path: Path) -> None:
    job = compile_scenario(load_scenario(path), out_dir=tmp_path)
    assert job.expect.laws
    assert list(tmp_path.iterdir()) == [], "compiling writes nothing"
