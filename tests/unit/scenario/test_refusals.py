"""Invalid scenarios: refused with position, before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.faults.catalogue import FAULT_KINDS
from tests.support.jobs.scenarios import HEAD, compiled, refused, sinks


@pytest.mark.parametrize("name", ["../in.csv", "/etc/hostname", "link.csv", "folder", "missing.csv", "a\\0b"])
def test_inputs_outside_folder_and_special_files_are_refused(name: str, tmp_path: Path) -> None:
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
def test_outputs_outside_output_folder_are_refused(name: str, tmp_path: Path) -> None:
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
            ["s.yaml:14:28 operators.x.key_by: a key cannot read the timestamp: add it as a field in an earlier map"],
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
                    "s.yaml:14:77 operators.x.aggregate.word: 'word' is already a field of the result "
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
            [
                (
                    "s.yaml:1:1 settings: the job needs 8,002 subtasks, 16,008,000 channels and 48,040,002 network buffers, "
                    "and flowsim about 37.5 GiB of memory: expected at most 1,100,000 channels; 16,000,000 of the channels "
                    "connect a and b: lower the parallelism (--limit channels=N raises the limit)"
                )
            ],
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
                "s.yaml:15:18 faults[0].fault: there is no fault 'drop_elemnt' (did you mean 'drop_element'?); there are: "
                + ", ".join(FAULT_KINDS),
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
            ["s.yaml:15:43 recompute.input: there is no source of files 'rows'"],
        ),
    ],
)
def test_invalid_scenario_is_refused_with_position(body: str, errors: list[str], tmp_path: Path) -> None:
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
def test_invalid_source_is_refused_with_position(old: str, new: str, error: str, tmp_path: Path) -> None:
    (line,) = refused(HEAD.replace(old, new, 1) + sinks(o="rows"), tmp_path)
    assert line.startswith(error)
