"""``flowsim scenarios`` lists, explains and copies scenarios; ``flowsim new`` writes one to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flowsim.cli import shipped_scenarios as shipped
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_scenario

ROOT = Path(__file__).parents[3]
NAMES = [path.stem for path in sorted((ROOT / "scenarios").glob("*.yaml"))]
FLIGHTS = "data/nyc_flights_2013.csv.gz"


@pytest.fixture
def wheel(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of an installed wheel: those of the checkout without the largest data file."""
    root = tmp_path_factory.mktemp("shipped")
    for name in ("docs", "scenarios"):
        (root / name).mkdir()
        for path in (ROOT / name).iterdir():
            if path.name != "data":
                (root / name / path.name).symlink_to(path)
    (root / "scenarios" / "data").mkdir()
    for path in (ROOT / "scenarios" / "data").iterdir():
        if path.name != Path(FLIGHTS).name:
            (root / "scenarios" / "data" / path.name).symlink_to(path)
    monkeypatch.setattr(shipped, "shipped", lambda name: root / name)
    return root


def test_list_has_every_scenario_with_its_first_sentence(flowsim: Any) -> None:
    listed = flowsim("scenarios", "--json").document
    assert [each["name"] for each in listed] == NAMES
    assert [each["name"] for each in listed if not each["summary"].startswith("Teaches ")] == []
    assert [each["missing"] for each in listed] == [[]] * len(NAMES)
    assert listed[NAMES.index("02_wordcount_inline")]["summary"] == (
        "Teaches a minimal complete job: the scenario contains the lines, and the job splits them into words and counts "
        "the words."
    )
    assert "02_wordcount_inline" in flowsim("scenarios").out


@pytest.mark.parametrize("name", ["11a_silent_partition", "11a", "11a_silent_partition.yaml"])
def test_scenario_is_explained_by_its_first_comment(flowsim: Any, name: str) -> None:
    out = flowsim("scenarios", name).out
    assert out.startswith("11a_silent_partition\n\nTeaches why a window produces no output: ")
    assert "11b declares the silent subtask idle.\n" in out
    assert "yaml-language-server" not in out


@pytest.mark.parametrize("name", NAMES)
def test_named_files_are_those_that_the_job_reads(name: str, tmp_path: Path) -> None:
    scenario = shipped.shipped_scenario(name)
    compiled = compile_scenario(load_scenario(scenario.path), out_dir=tmp_path, allow_python=True)
    read = {file.path for file in compiled.inputs} | ({compiled.recompute.script} if compiled.recompute else set())
    assert {path.resolve() for path in scenario.files().values() if path is not None} == read


def test_copy_has_all_files_and_runs(flowsim: Any, tmp_path: Path) -> None:
    called = flowsim("scenarios", "02", "--copy", "mine", "--json")
    assert called.document == {
        "scenario": "mine/02_wordcount_inline.yaml",
        "written": ["mine/02_wordcount_inline.yaml", "mine/scenario.schema.json"],
    }
    first, _, rest = (tmp_path / "mine" / "02_wordcount_inline.yaml").read_text().partition("\n")
    assert first == "# yaml-language-server: $schema=scenario.schema.json"
    assert rest == (ROOT / "scenarios" / "02_wordcount_inline.yaml").read_text().partition("\n")[2]
    schema = (tmp_path / "mine" / "scenario.schema.json").read_bytes()
    assert schema == (ROOT / "docs" / "scenario.schema.json").read_bytes()
    assert flowsim("run", "mine/02_wordcount_inline.yaml", "--validate", "--engine", "python").code == 0


def test_copy_includes_data_files_and_scripts(flowsim: Any, tmp_path: Path) -> None:
    assert flowsim("scenarios", "01c", "--copy").code == 0
    copied = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert copied == [
        "01c_nyc_flights_routes.yaml",
        "01c_nyc_flights_routes_recompute.py",
        "data/airlines.csv",
        FLIGHTS,
        "data/nyc_weather_2013/EWR.parquet",
        "data/nyc_weather_2013/JFK.parquet",
        "data/nyc_weather_2013/LGA.parquet",
        "scenario.schema.json",
        "tiny.yaml",
    ]
    assert flowsim("check", "01c_nyc_flights_routes.yaml").code == 0


def test_copy_does_not_overwrite_without_force(flowsim: Any, tmp_path: Path) -> None:
    flowsim("scenarios", "02", "--copy")
    copied, schema = tmp_path / "02_wordcount_inline.yaml", tmp_path / "scenario.schema.json"
    assert flowsim("scenarios", "02", "--copy", "--json").document["written"] == [], "files with equal content stay"
    copied.write_text("mine")
    schema.unlink()
    called = flowsim("scenarios", "02", "--copy")
    assert (called.code, copied.read_text(), schema.exists()) == (2, "mine", False)
    assert called.err == "error: 02_wordcount_inline.yaml: already there with other content; --force overwrites\n"
    assert flowsim("scenarios", "02", "--copy", "--force").code == 0
    assert copied.read_text().endswith((ROOT / "scenarios" / copied.name).read_text().partition("\n")[2])


def test_wheel_names_the_scenarios_whose_data_it_does_not_have(flowsim: Any, wheel: Path) -> None:
    listed = flowsim("scenarios", "--json").document
    assert [each["name"] for each in listed if each["missing"] == [FLIGHTS]] == [n for n in NAMES if n < "02"]
    assert {name for each in listed for name in each["missing"]} == {FLIGHTS}
    assert "the source distribution and the repository have it in scenarios/" in flowsim("scenarios").out
    assert f"needs  {FLIGHTS}  (not in this installation)" in flowsim("scenarios", "01").out


def test_copy_without_its_data_writes_nothing_and_names_the_file(flowsim: Any, wheel: Path, tmp_path: Path) -> None:
    called = flowsim("scenarios", "01d", "--copy", "mine")
    assert (called.code, (tmp_path / "mine").exists()) == (2, False)
    assert called.err.startswith(f"error: 01d_nyc_flights_airlines needs {FLIGHTS}, which this installation does not")
    assert f"copy it to mine/{FLIGHTS} first" in called.err
    (tmp_path / "mine" / "data").mkdir(parents=True)
    (tmp_path / "mine" / FLIGHTS).write_bytes((ROOT / "scenarios" / FLIGHTS).read_bytes())
    assert flowsim("scenarios", "01d", "--copy", "mine").code == 0


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["03_slow_snk"], "there is no scenario '03_slow_snk' (did you mean '03_slow_sink_backpressure'?)"),
        (["--copy"], "--copy and --force need the NAME of a scenario"),
        (["02", "mine"], "DIR and --force need --copy"),
        (["02", "tiny.yaml", "--copy"], "tiny.yaml: expected a folder, found a file"),
    ],
)
def test_scenarios_refuses_invalid_arguments(flowsim: Any, arguments: list[str], error: str, tmp_path: Path) -> None:
    called = flowsim("scenarios", *arguments)
    assert called.code == 2
    assert called.err.startswith(f"error: {error}")
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.yaml"]


def test_new_scenario_runs_and_all_of_its_laws_hold(flowsim: Any, tmp_path: Path) -> None:
    called = flowsim("new", "jobs/first.yaml", "--json")
    assert called.document == {
        "scenario": "jobs/first.yaml",
        "written": ["jobs/first.yaml", "jobs/scenario.schema.json"],
    }
    text = (tmp_path / "jobs" / "first.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=scenario.schema.json\n# ")
    assert "\nname: first\n" in text
    assert text.count("#") > 15, "it explains itself"
    done = flowsim("run", "jobs/first.yaml", "--validate", "--engine", "python", "--json")
    assert done.code == 0
    verdicts = {line["verdict"] for line in done.document["validation"]["laws"]}
    assert verdicts == {"holds", "not applicable"}


def test_new_does_not_overwrite_without_force(flowsim: Any, tmp_path: Path) -> None:
    assert flowsim("new").code == 0
    (tmp_path / "scenario.yaml").write_text("mine")
    called = flowsim("new")
    assert (called.code, (tmp_path / "scenario.yaml").read_text()) == (2, "mine")
    assert called.err == "error: scenario.yaml: already there with other content; --force overwrites\n"
    assert flowsim("new", "--force").code == 0
    assert "name: scenario\n" in (tmp_path / "scenario.yaml").read_text()


def test_new_keeps_its_own_name_where_that_of_the_file_is_no_name(flowsim: Any, tmp_path: Path) -> None:
    assert flowsim("new", "1 2.yaml").code == 0
    assert "\nname: starter\n" in (tmp_path / "1 2.yaml").read_text()
    assert flowsim("check", "1 2.yaml").code == 0


def test_new_refuses_a_folder(flowsim: Any, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    called = flowsim("new", "there", "--force")
    assert (called.code, called.err) == (2, "error: there: expected a file, found a folder\n")
