"""Invalid ``async:`` blocks: refused with position, expectation and, where it helps, advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.jobs.scenarios import HEAD, compiled, refused, sinks

START = HEAD + "operators:\n  x:\n    input: rows\n    async:\n"
"""What follows begins on line 17 with six blanks."""

OK = "mode: ordered\nlatency: 5 ms\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A scenario's folder with good and bad files, and one beside it."""
    folder = tmp_path / "scenario"
    folder.mkdir()
    (folder / "empty.txt").write_text("")
    (folder / "bad.txt").write_text("1\nx\n")
    (folder / "table.csv").write_text("id,who,n\na,Ann,1\n")
    (folder / "twice.csv").write_text("id,who\na,Ann\nb,B\na,C\n")
    (tmp_path / "outside.txt").write_text("1\n")
    return folder


def text_of(block: str) -> str:
    return START + "".join(f"      {line}\n" for line in block.splitlines()) + sinks(out="x")


# The block, the line and column that are named, and what is said behind "operators.x.async".
REFUSED: list[tuple[str, str, str]] = [
    ("latency: 5 ms\nadd: {m: n}", "16:5", ": the key 'mode' is missing"),
    (
        "mode: orderd\nlatency: 5 ms\nadd: {m: n}",
        "17:13",
        ".mode: expected 'ordered' or 'unordered', got 'orderd' (did you mean 'ordered'?)",
    ),
    (OK + "capacity: 0\nadd: {m: n}", "19:17", ".capacity: expected a value >= 1, got 0"),
    (OK + "capacity: 1.5\nadd: {m: n}", "19:17", ".capacity: expected an integer, got 1.5"),
    (
        OK + "timeout: 5 parsecs\nadd: {m: n}",
        "19:16",
        ".timeout: expected a duration such as '100 ms' (units: ns, us, ms, s, sec, min, h, d), got '5 parsecs'",
    ),
    (OK + "timeout: 1500 us\nadd: {m: n}", "19:16", ".timeout: expected whole milliseconds, got '1500 us'"),
    (OK + "design: old\nadd: {m: n}", "19:15", ".design: expected 'mailbox' or 'legacy', got 'old'"),
    (
        OK + "chaining: head\nadd: {m: n}",
        "19:7",
        ".chaining: unknown key 'chaining' (did you mean 'chaining' of operators.x?)",
    ),
    (OK + "capcity: 3\nadd: {m: n}", "19:7", ".capcity: unknown key 'capcity' (did you mean 'capacity'?)"),
    (OK, "17:7", ": expected one of select, add, lookup, answers, python, got none of them"),
    (
        OK + "add: {m: n}\nselect: {m: n}",
        "17:7",
        ": expected one of select, add, lookup, answers, python, got select and add",
    ),
    (OK + "add: {}", "19:12", ".add: expected at least 1 entry, got a mapping of 0"),
    (OK + "add: {m: nn}", "19:16", ".add.m: unknown name 'nn' (did you mean 'n'?), at character 1 of 'nn'"),
    (
        OK + "add: {m: timestamp}",
        "19:12",
        ".add: an asynchronous function cannot read the timestamp: add it as a field in an earlier map",
    ),
    (
        OK + "add: {m: n}\nfields: {m: long}",
        "17:7",
        ": only a python function declares its fields, add determines them itself: remove fields",
    ),
    ("mode: ordered\nadd: {m: n}", "17:7", ": expected latency: how long calls take"),
    (
        "mode: ordered\nlatency: soon\nadd: {m: n}",
        "18:16",
        ".latency: expected a duration such as '100 ms' (units: ns, us, ms, s, sec, min, h, d), got 'soon'",
    ),
    (
        "mode: ordered\nlatency: -5 ms\nadd: {m: n}",
        "18:16",
        ".latency: expected a duration of at least 0 ns and at most 146 years, got '-5 ms'",
    ),
    ("mode: ordered\nlatency: 5\nadd: {m: n}", "18:16", ".latency: expected a duration such as '100 ms', got 5"),
    (
        "mode: ordered\nlatency: [5 ms]\nadd: {m: n}",
        "18:16",
        ".latency: expected a duration such as '100 ms', got a list of 1",
    ),
    (
        "mode: ordered\nlatency: {}\nadd: {m: n}",
        "18:16",
        ".latency: expected one of uniform, normal, lognormal, exponential, trace, each, got none of them",
    ),
    (
        "mode: ordered\nlatency: {normall: {mean: 5 ms}}\nadd: {m: n}",
        "18:17",
        ".latency.normall: unknown key 'normall' (did you mean 'normal'?)",
    ),
    (
        "mode: ordered\nlatency: {uniform: {low: 5 ms, high: 1 ms}}\nadd: {m: n}",
        "18:26",
        ".latency.uniform: expected low <= high",
    ),
    (
        "mode: ordered\nlatency: {uniform: {low: 5 ms}}\nadd: {m: n}",
        "18:17",
        ".latency.uniform: the key 'high' is missing",
    ),
    (
        "mode: ordered\nlatency: {normal: {mean: 5 ms, standard_deviation: -1}}\nadd: {m: n}",
        "18:58",
        ".latency.normal.standard_deviation: expected a duration such as '100 ms', got -1",
    ),
    (
        "mode: ordered\nlatency: {lognormal: {median: 20 ms, p99: 10 ms}}\nadd: {m: n}",
        "18:28",
        ".latency.lognormal: expected p99 >= median",
    ),
    (
        "mode: ordered\nlatency: {lognormal: {median: 0, p99: 10 ms}}\nadd: {m: n}",
        "18:37",
        ".latency.lognormal.median: expected a value >= 1, got 0",
    ),
    (
        "mode: ordered\nlatency: {lognormal: {median: 20 ms}}\nadd: {m: n}",
        "18:28",
        ".latency.lognormal: expected one of p99, sigma, got none of them",
    ),
    (
        "mode: ordered\nlatency: {lognormal: {median: 20 ms, p99: 30 ms, sigma: 1.0}}\nadd: {m: n}",
        "18:28",
        ".latency.lognormal: expected one of p99, sigma, got p99 and sigma",
    ),
    (
        "mode: ordered\nlatency: {lognormal: {median: 20 ms, sigma: 11.0}}\nadd: {m: n}",
        "18:51",
        ".latency.lognormal.sigma: expected a value <= 10.0, got 11.0",
    ),
    (
        "mode: ordered\nlatency: {exponential: {}}\nadd: {m: n}",
        "18:17",
        ".latency.exponential: the key 'mean' is missing",
    ),
    (
        "mode: ordered\nlatency: {each: word}\nadd: {m: n}",
        "18:23",
        ".latency.each: expected milliseconds as a number, got string",
    ),
    (
        "mode: ordered\nlatency: {each: n, exponential: {mean: 1 ms}}\nadd: {m: n}",
        "18:16",
        ".latency: expected one of uniform, normal, lognormal, exponential, trace, each, got exponential and each",
    ),
    (
        "mode: ordered\nlatency: {each: timestamp}\nadd: {m: n}",
        "18:23",
        ".latency.each: an asynchronous function cannot read the timestamp: add it as a field in an earlier map",
    ),
    (
        "mode: ordered\nlatency: {trace: {path: none.txt}}\nadd: {m: n}",
        "18:31",
        ".latency.trace.path: there is no file 'none.txt' in DIR",
    ),
    (
        "mode: ordered\nlatency: {trace: {path: empty.txt}}\nadd: {m: n}",
        "18:31",
        ".latency.trace.path: DIR/empty.txt: expected at least one latency, the file has none",
    ),
    (
        "mode: ordered\nlatency: {trace: {path: bad.txt}}\nadd: {m: n}",
        "18:31",
        ".latency.trace.path: DIR/bad.txt:2:1 expected a latency in ms, a number of at least 0, got 'x'",
    ),
    (
        "mode: ordered\nlatency: {trace: {path: table.csv, column: took}}\nadd: {m: n}",
        "18:31",
        ".latency.trace.path: DIR/table.csv:1:1 no column 'took'; the header has: id, who, n",
    ),
    (
        "mode: ordered\nlatency: {trace: {path: ../outside.txt}}\nadd: {m: n}",
        "18:31",
        ".latency.trace.path: input '../outside.txt' is outside of DIR; use --allow-path to allow that",
    ),
    (
        "mode: ordered\nlatency: {trace: {path: bad.txt, unit: min}}\nadd: {m: n}",
        "18:46",
        ".latency.trace.unit: expected 'ns', 'us', 'ms' or 's', got 'min'",
    ),
    (
        OK + "add: {m: n}\nspikes: {share: 2.0, latency: 1 s}",
        "20:23",
        ".spikes.share: expected a value <= 1.0, got 2.0",
    ),
    (OK + "add: {m: n}\nspikes: {share: 0.5}", "20:7", ".spikes: the key 'latency' is missing"),
    (
        OK + "add: {m: n}\nspikes: {share: 0.5, latency: {each: word}}",
        "20:44",
        ".spikes.latency.each: expected milliseconds as a number, got string",
    ),
    (OK + "add: {m: n}\nfails: {}", "20:14", ".fails: expected share, when or first_attempts, got none of them"),
    (OK + "add: {m: n}\nfails: {share: 1.1}", "20:22", ".fails.share: expected a value <= 1.0, got 1.1"),
    (OK + "add: {m: n}\nfails: {when: n}", "20:21", ".fails.when: expected a condition, this expression gives long"),
    (
        OK + "add: {m: n}\nfails: {first_attempts: 2}",
        "17:7",
        ": fails.first_attempts needs retry: without retry there is only one attempt",
    ),
    (OK + "add: {m: n}\nsilent: {}", "20:15", ".silent: expected share or when, got neither"),
    (
        OK + "add: {m: n}\nsilent: {when: wrod == 'a'}",
        "20:22",
        ".silent.when: unknown name 'wrod' (did you mean 'word'?), at character 1 of \"wrod == 'a'\"",
    ),
    (
        OK + "add: {m: n}\nsilent: {first_attempts: 1}",
        "20:16",
        ".silent.first_attempts: unknown key 'first_attempts' (did you mean 'first_attempts' of operators.x.async.fails?)",
    ),
    (OK + "add: {m: n}\non_timeout: drop", "17:7", ": on_timeout needs a timeout"),
    (
        OK + "add: {m: n}\ntimeout: 1 s\non_timeout: dorp",
        "21:19",
        ".on_timeout: expected 'fail', 'drop' or 'nothing' or a mapping, got 'dorp' (did you mean 'drop'?)",
    ),
    (
        OK + "add: {m: n}\ntimeout: 1 s\non_timeout: {}",
        "21:19",
        ".on_timeout: expected one of select, add, got none of them",
    ),
    (
        OK + "add: {m: n}\ntimeout: 1 s\non_timeout: {add: {}}",
        "21:25",
        (
            ".on_timeout.add: expected at least one field; for a result without new fields use select, such as "
            "{select: {key: key}}"
        ),
    ),
    (
        OK + "add: {m: n}\ntimeout: 1 s\non_timeout: {select: {m: n}}",
        "21:28",
        (
            ".on_timeout.select: expected the fields of the other results, word: string, n: long, ratio: double, "
            "m: long, got m: long"
        ),
    ),
    (
        OK + "add: {m: n}\ntimeout: 1 s\non_timeout: {add: {m: word}}",
        "21:25",
        (
            ".on_timeout.add: expected the fields of the other results, word: string, n: long, ratio: double, m: "
            "long, got word: string, n: long, ratio: double, m: string"
        ),
    ),
    (
        OK + "add: {m: n}\ntimeout: 1 s\non_timeout: {add: {m: ratio}}",
        "21:25",
        (
            ".on_timeout.add: expected the fields of the other results, word: string, n: long, ratio: double, m: "
            "long, got word: string, n: long, ratio: double, m: double"
        ),
    ),
    (
        OK + "add: {m: n}\nretry: {fixed: {max_attempts: 1, delay: 1 ms}}",
        "17:7",
        ": retry needs a timeout, which all attempts of a record share",
    ),
    (
        OK + "add: {m: n}\ntimeout: 1 s\nretry: {}",
        "21:14",
        ".retry: expected one of fixed, exponential, got none of them",
    ),
    (
        OK + "add: {m: n}\ntimeout: 1 s\nretry: {fixed: {max_attempts: 0, delay: 1 ms}}",
        "21:37",
        ".retry.fixed.max_attempts: expected a value >= 1, got 0",
    ),
    (
        OK + "add: {m: n}\ntimeout: 1 s\nretry: {fixed: {max_attempts: 1, delay: 0}}",
        "21:47",
        ".retry.fixed.delay: expected a value >= 1, got 0",
    ),
    (
        OK
        + "add: {m: n}\ntimeout: 1 s\nretry: {exponential: {max_attempts: 1, initial: 1 ms, max: 1 s, multiplier: 0.0}}",
        "21:83",
        ".retry.exponential.multiplier: expected a value > 0.0, got 0.0",
    ),
    (
        OK + "add: {m: n}\ntimeout: 1 s\nretry: {fixed: {max_attempts: 1, delay: 1 ms}, on_error: false}",
        "21:14",
        ".retry: expected a retry condition: when, when_empty or on_error",
    ),
    (
        OK + "add: {m: n}\ntimeout: 1 s\nretry: {fixed: {max_attempts: 1, delay: 1 ms}, when: m}",
        "21:60",
        ".retry.when: expected a condition, this expression gives long",
    ),
    (
        OK + "select: {m: n}\ntimeout: 1 s\nretry: {fixed: {max_attempts: 1, delay: 1 ms}, when: n > 0}",
        "21:60",
        ".retry.when: unknown name 'n' (known: m, value, timestamp), at character 1 of 'n > 0'",
    ),
    (
        OK + "add: {m: n}\ntimeout: 1 s\ndesign: legacy\nretry: {fixed: {max_attempts: 1, delay: 1 ms}}",
        "17:7",
        ": the legacy design has no retry, remove retry or design",
    ),
    (
        OK + "lookup: {csv: none.csv, columns: {id: string, who: string}, key: word, key_column: id}",
        "19:21",
        ".lookup.csv: there is no file 'none.csv' in DIR",
    ),
    (
        OK + "lookup: {csv: ../outside.txt, columns: {id: string, who: string}, key: word, key_column: id}",
        "19:21",
        ".lookup.csv: input '../outside.txt' is outside of DIR; use --allow-path to allow that",
    ),
    (
        OK + "lookup: {csv: table.csv, columns: {id: string, whom: string}, key: word, key_column: id}",
        "19:21",
        ".lookup.csv: DIR/table.csv:1:1 no column 'whom' (did you mean 'who'?); the header has: id, who, n",
    ),
    (
        OK + "lookup: {csv: table.csv, columns: {id: string, who: long}, key: word, key_column: id}",
        "19:21",
        (
            ".lookup.csv: DIR/table.csv:2:3 column 'who': expected a long (-9223372036854775808 to "
            "9223372036854775807) or nothing, got 'Ann'"
        ),
    ),
    (
        OK + "lookup: {csv: table.csv, columns: {id: string, who: string}, key: n, key_column: id}",
        "19:73",
        ".lookup.key: a key of type long never equals a value of column 'id' of type string",
    ),
    (
        OK + "lookup: {csv: table.csv, columns: {id: string, who: string}, key: wrd, key_column: id}",
        "19:73",
        ".lookup.key: unknown name 'wrd' (did you mean 'word'?), at character 1 of 'wrd'",
    ),
    (
        OK + "lookup: {csv: table.csv, columns: {id: string, who: string}, key: word, key_column: is}",
        "19:15",
        ".lookup: key_column 'is' is not one of the columns: id, who",
    ),
    (
        OK + "lookup: {csv: table.csv, columns: {id: string}, key: word, key_column: id}",
        "19:15",
        ".lookup: expected a column other than the key, to add to the record",
    ),
    (
        OK + "lookup: {csv: twice.csv, columns: {id: string, who: string}, key: word, key_column: id}",
        "19:21",
        ".lookup.csv: DIR/twice.csv:4:1 column 'id': an earlier row has the key 'a'",
    ),
    (
        OK + "lookup: {csv: table.csv, columns: {id: string, n: string}, key: word, key_column: id}",
        "19:57",
        ".lookup.columns.n: 'n' is already a field of the record",
    ),
    (
        OK + "lookup: {csv: table.csv, columns: {id: string, who: string}, key: word, key_column: id, missing: null}",
        "19:104",
        ".lookup.missing: expected 'nulls', 'drop' or 'fail', got nothing",
    ),
    (
        OK + "lookup: {csv: table.csv, columns: {id: string, who: text}, key: word, key_column: id}",
        "19:59",
        ".lookup.columns.who: expected 'boolean', 'int', 'long', 'double' or 'string', got 'text'",
    ),
    (
        "mode: ordered\npython: flowsim_user_code:Waiting\nfields: {w: string}",
        "18:15",
        ".python: flowsim_user_code:Waiting is Python code and runs only with --allow-python",
    ),
    (
        "mode: ordered\npython: flowsim_user_code:Waiting",
        "17:7",
        ": a python function must declare the fields that it emits",
    ),
    (
        OK + "python: flowsim_user_code:Waiting\nfields: {w: string}",
        "17:7",
        ": a Python function makes its own calls, remove latency",
    ),
    (
        (
            "mode: ordered\ntimeout: 1 s\non_timeout: drop\nsilent: {share: 0.1}\npython: "
            "flowsim_user_code:Waiting\nfields: {w: string}"
        ),
        "17:7",
        ": a Python function makes its own calls, remove silent and on_timeout",
    ),
]


@pytest.mark.parametrize(("block", "place", "message"), REFUSED, ids=[block for block, _, _ in REFUSED])
def test_invalid_block_is_refused_with_position(block: str, place: str, message: str, folder: Path) -> None:
    said = refused(text_of(block), folder, folder)
    assert [line.replace(str(folder), "DIR") for line in said] == [f"s.yaml:{place} operators.x.async{message}"]


@pytest.mark.parametrize("name", ["outside.txt", "outside.csv"])
def test_files_outside_folder_are_read_when_allowed(name: str, folder: Path) -> None:
    (folder.parent / "outside.csv").write_text("id,who\na,Ann\n")
    block = {
        "outside.txt": "mode: ordered\nlatency: {trace: {path: ../outside.txt}}\nadd: {m: n}",
        "outside.csv": OK
        + "lookup: {csv: ../outside.csv, columns: {id: string, who: string}, key: word, key_column: id}",
    }[name]
    job = compiled(text_of(block), folder, folder, allow_path=True)
    assert [file.path for file in job.inputs] == [(folder.parent / name).resolve()]


@pytest.mark.parametrize("name", ["double", "WholeWindow"])
def test_python_name_that_is_no_async_function_is_refused(name: str, tmp_path: Path) -> None:
    block = f"mode: ordered\npython: flowsim_user_code:{name}\nfields: {{w: string}}"
    (line,) = refused(text_of(block), tmp_path, allow_python=True)
    expected = "expected the class of an AsyncFunction or ResultFutureFunction"
    assert line == f"s.yaml:18:15 operators.x.async.python: {expected}, got flowsim_user_code:{name}"


def test_all_errors_of_a_block_are_reported_together(folder: Path) -> None:
    block = OK + "capacity: 0\ntimeout: soon\nfails: {share: 2.0}\nadd: {m: n}"
    assert [line.split()[1] for line in refused(text_of(block), folder, folder)] == [
        "operators.x.async.capacity:",
        "operators.x.async.timeout:",
        "operators.x.async.fails.share:",
    ]


def test_async_key_counts_as_operator_kind(folder: Path) -> None:
    text = text_of(OK + "add: {m: n}").replace("    input: rows\n", "    input: rows\n    filter: n > 0\n")
    (line,) = refused(text, folder, folder)
    assert line.startswith("s.yaml:15:5 operators.x: expected one of map, filter, ")
    assert line.endswith(", got filter and async")
