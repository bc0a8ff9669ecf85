"""Loading a scenario: every error names its position, the expectation, and the nearest valid name."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.errors import ScenarioError
from flowsim.scenario.loader import Scenario, load_scenario, load_text
from flowsim.scenario.yaml.positions import read_document
from flowsim.scenario.yaml.problems import Problems, ScenarioErrors

ROOT = Path(__file__).parents[3]
TEXT = """\
flowsim: 1
name: small
settings:
  seed: 7
  buffer_timeout: 0 ms
sources:
  words:
    collection:
      fields: {word: string, n: long}
      rows:
        - [a, 1]
operators:
  grouped:
    input: words
    key_by: word
    parallelism: 2
    window: {tumbling: 1 s}
    aggregate: {rows: count()}
sinks:
  out: {input: grouped, collect: {}}
"""


def load(text: str = TEXT, *overrides: str) -> Scenario:
    return load_text(text, "s.yaml", ROOT, overrides)


def errors_of(text: str, *overrides: str) -> list[str]:
    with pytest.raises(ScenarioError) as refused:
        load(text, *overrides)
    return str(refused.value).splitlines()


def test_valid_scenario_has_its_values_and_flinks_defaults() -> None:
    model = load().model
    assert (model.settings.seed, model.settings.buffer_timeout, model.settings.segment_size) == (7, 0, 32768)
    assert model.operators["grouped"].window is not None
    assert model.operators["grouped"].window.tumbling == 1000
    assert model.operators["grouped"].chosen[0] == "aggregate"
    assert model.sinks["out"].inputs() == ["grouped"]


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("seed: 7", "sed: 7", "s.yaml:4:3 settings.sed: unknown key 'sed' (did you mean 'seed'?)"),
        ("seed: 7", "seed: '7'", "s.yaml:4:9 settings.seed: expected an integer, got '7'"),
        ("seed: 7", "seed: 1.0", "s.yaml:4:9 settings.seed: expected an integer, got 1.0"),
        ("seed: 7", "seed: true", "s.yaml:4:9 settings.seed: expected an integer, got true"),
        ("seed: 7", "seed:", "s.yaml:4:3 settings.seed: expected an integer, got nothing"),
        (
            "parallelism: 2",
            "parallelism: 0",
            "s.yaml:16:18 operators.grouped.parallelism: expected a value >= 1, got 0",
        ),
        (
            "0 ms",
            "0 msec",
            (
                "s.yaml:5:19 settings.buffer_timeout: expected a duration such as '100 ms' "
                "(units: ns, us, ms, s, sec, min, h, d), got '0 msec'"
            ),
        ),
        ("0 ms", "5", "s.yaml:5:19 settings.buffer_timeout: expected a duration such as '100 ms', got 5"),
        ("0 ms", "5 ns", "s.yaml:5:19 settings.buffer_timeout: expected whole milliseconds, got '5 ns'"),
        (
            "n: long",
            "n: lnog",
            (
                "s.yaml:9:33 sources.words.collection.fields.n: expected 'boolean', 'int', 'long', 'double' or 'string', "
                "got 'lnog' (did you mean 'long'?)"
            ),
        ),
        ("    input: words\n", "", "s.yaml:13:3 operators.grouped: the key 'input' is missing"),
        ("input: words", "input: 3", "s.yaml:14:12 operators.grouped.input: expected a text or a list, got 3"),
        ("key_by: word", "key_by: [1]", "s.yaml:15:14 operators.grouped.key_by[0]: expected a text, got 1"),
        (
            "  grouped:",
            "  9rouped:",
            (
                "s.yaml:13:3 operators.9rouped: expected a name of letters, digits, '_' and '-' that begins with a letter, "
                "got '9rouped'"
            ),
        ),
        (
            "collect: {}",
            "collect: {}, print: {}",
            "s.yaml:20:8 sinks.out: expected one of parquet, csv, jsonl, sqlite, postgres, collect, print, got collect and print",
        ),
        (
            "window: {tumbling: 1 s}",
            "process: {python: 'a:b'}",
            (
                "s.yaml:14:5 operators.grouped: expected one of map, filter, "
                "flat_map, aggregate, reduce, sum, min, max, min_by, max_by, process, watermarks, alarm, async, "
                "connect, join, co_group, interval_join, broadcast, got aggregate and process"
            ),
        ),
        ("    window: {tumbling: 1 s}\n", "", "s.yaml:14:5 operators.grouped: aggregate needs a window"),
        (
            "    key_by: word\n",
            "",
            (
                "s.yaml:14:5 operators.grouped: a window without key_by takes all records in one subtask: "
                "remove partition and parallelism"
            ),
        ),
        ("- [a, 1]", "- a", "s.yaml:11:11 sources.words.collection.rows[0]: expected a list, got 'a'"),
        (
            "flowsim: 1",
            "flowsim: 2",
            "s.yaml:1:10 flowsim: expected version 1 of the format, got 2: this flowsim supports no other version",
        ),
        ("flowsim: 1\n", "", "s.yaml:1:1 the document: the key 'flowsim' is missing"),
    ],
)
def test_error_names_position_and_expectation(old: str, new: str, error: str) -> None:
    assert old in TEXT
    assert errors_of(TEXT.replace(old, new, 1)) == [error]


def test_all_errors_are_reported_together_in_file_order() -> None:
    text = TEXT.replace("parallelism: 2", "parallelism: 0").replace("seed: 7", "sed: 7").replace("1 s}", "1 sek}")
    with pytest.raises(ScenarioErrors) as refused:
        load(text)
    assert [error.position.line for error in refused.value.errors if error.position] == [4, 16, 17]
    assert len(str(refused.value).splitlines()) == 3


def test_message_has_first_errors_of_file_and_number_of_others() -> None:
    keys = "".join(f"  k{index}: 1\n" for index in range(70))
    lines = errors_of(TEXT.replace("settings:\n", f"settings:\n{keys}", 1))
    assert len(lines) == 51
    assert lines[0].startswith("s.yaml:4:3 settings.k0: unknown key 'k0' (known: seed, policy,")
    assert lines[49] == "s.yaml:53:3 settings.k49: unknown key 'k49'"
    assert lines[50] == "... and 20 more errors"


def test_check_stops_after_200_errors() -> None:
    problems = Problems(read_document("a: 1", "s.yaml"))
    for _ in range(199):
        problems.at(("a",), "wrong")
    with pytest.raises(ScenarioErrors) as stopped:
        problems.at(("a",), "wrong")
    with pytest.raises(ScenarioErrors) as again:
        problems.at(("a",), "also wrong")
    assert again.value is stopped.value
    assert str(stopped.value).splitlines()[-1] == "... and 150 more errors; the rest of the scenario was not checked"


@pytest.mark.parametrize("text", ["[]", "5", "text", "- a"])
def test_document_that_is_no_mapping_is_refused(text: str) -> None:
    assert errors_of(text) == ["s.yaml:1:1 the document: expected a mapping that begins with 'flowsim: 1'"]


def test_set_overrides_values_under_same_rules() -> None:
    scenario = load(
        TEXT, "settings.seed=9", "operators.grouped.parallelism=4", "sources.words.collection.rows[0]=[b, 2]"
    )
    assert scenario.model.settings.seed == 9
    assert scenario.model.operators["grouped"].parallelism == 4
    assert scenario.resolved()["sources"]["words"]["collection"]["rows"] == [["b", 2]]  # type: ignore[index]
    assert (
        load(TEXT.replace("settings:\n  seed: 7\n  buffer_timeout: 0 ms\n", ""), "settings.seed=9").model.settings.seed
        == 9
    )


@pytest.mark.parametrize(
    ("override", "error"),
    [
        ("settings.seed=x", "--set settings.seed=x:1:15 settings.seed: expected an integer, got 'x'"),
        ("settings.sed=1", "--set settings.sed=1:1:1 settings.sed: unknown key 'sed' (did you mean 'seed'?)"),
        (
            "operators.gruoped.parallelism=4",
            ("--set operators.gruoped.parallelism=4:1:1 operators has no 'gruoped' (did you mean 'grouped'?)"),
        ),
        ("seed", "--set seed:1:1 expected key=value, such as settings.seed=7"),
        ("=1", "--set =1:1:1 expected key=value, such as settings.seed=7"),
        ("a b=1", "--set a b=1:1:1 expected a dotted key such as operators.hourly.parallelism, got 'a b'"),
        (
            "execution.checkpointing.interval=10 s",
            (
                "--set execution.checkpointing.interval=10 s:1:1 execution: unknown key 'execution' "
                "(did you mean 'settings.checkpointing.interval'?)"
            ),
        ),
        (
            "operators.grouped.withIdleness=10 s",
            (
                "--set operators.grouped.withIdleness=10 s:1:1 operators.grouped.withIdleness: unknown key 'withIdleness' "
                "(did you mean 'watermarks.idle_after'?)"
            ),
        ),
        ("settings.seed.x=1", "--set settings.seed.x=1:1:1 settings.seed is a single value, it has no key 'x'"),
        (
            "sources.words.collection.rows[7]=[1]",
            (
                "--set sources.words.collection.rows[7]=[1]:1:1 "
                "sources.words.collection.rows is a list of 1: expected an index below that, got 7"
            ),
        ),
    ],
)
def test_invalid_override_is_refused_with_its_name(override: str, error: str) -> None:
    assert errors_of(TEXT, override) == [error]


def test_override_adds_a_block_that_the_file_does_not_have() -> None:
    checkpointing = load(TEXT, "settings.checkpointing.interval=10 s").model.settings.checkpointing
    assert checkpointing is not None
    assert checkpointing.interval == 10_000


def test_missing_file_is_refused_with_nearest_name(tmp_path: Path) -> None:
    (tmp_path / "flights.yaml").write_text(TEXT)
    assert load_scenario(tmp_path / "flights.yaml").model.name == "small"
    with pytest.raises(ScenarioError, match=r"there is no such file \(did you mean 'flights.yaml'\?\)"):
        load_scenario(tmp_path / "fligths.yaml")
    with pytest.raises(ScenarioError, match="cannot be read"):
        load_scenario(tmp_path)


def test_digest_depends_on_meaning_not_layout() -> None:
    relaid = TEXT.replace("{input: grouped, collect: {}}", "\n    # a comment\n    collect: {}\n    input: grouped")
    assert load(relaid).digest() == load().digest()
    assert load(TEXT, "settings.seed=8").digest() != load().digest()


@pytest.mark.parametrize("path", sorted((ROOT / "scenarios").glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_scenario_loads(path: Path) -> None:
    assert load_scenario(path).model.flowsim == 1
