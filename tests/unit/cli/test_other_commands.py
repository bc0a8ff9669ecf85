"""The commands that run no job, ``explore``, and the command group."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pydot
import pytest

from flowsim import __version__
from flowsim.cli.main import CommandEntry, CommandGroup
from flowsim.faults.catalogue import FAULT_KINDS
from flowsim.laws.law_ids import LAW_IDS
from flowsim.scenario.json_schema import json_schema
from tests.unit.cli.conftest import Flowsim

DROP = "faults: [{fault: drop_element, operator: sums, at: 5}]\n"


def test_version_option_prints_package_version(flowsim: Any) -> None:
    assert re.fullmatch(rf"flowsim {re.escape(__version__)} \((compiled|pure Python: .+)\)\n", flowsim("--version").out)


def test_laws_faults_and_schema_print_the_catalogues(flowsim: Any) -> None:
    assert [law["id"] for law in flowsim("laws", "--json").document] == list(LAW_IDS)
    assert [fault["name"] for fault in flowsim("faults", "--json").document] == list(FAULT_KINDS)
    assert flowsim("schema").document == flowsim("schema", "--json").document == json.loads(json.dumps(json_schema()))
    laws = flowsim("laws").out
    assert all(law in laws for law in LAW_IDS)


def test_law_of_family_with_terms_prints_what_it_counts_and_the_terms(flowsim: Any) -> None:
    document = flowsim("laws", "late-rows", "--json").document
    assert "**derived watermark**" in document["terms"]
    assert "its derived watermark" in document["counts"]
    printed = " ".join(flowsim("laws", "late-rows").out.split())
    assert printed.index("Expected drops") < printed.index("The derived watermark of a row is")
    assert flowsim("laws", "mails", "--json").document["terms"] == ""


def test_check_prints_job_size_and_writes_no_file(flowsim: Any, tmp_path: Path) -> None:
    called = flowsim("check", "tiny.yaml")
    assert called.code == 0
    assert called.out.startswith("tiny.yaml: valid: 3 operators in 4 subtasks, 4 channels\n")
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.yaml"]


def test_many_windows_per_record_warn_before_the_run(flowsim: Any, write: Any) -> None:
    window = "window: {count: {size: 70, slide: 1}}, aggregate: {total: sum(n)}"
    scenario = write("slow.yaml", ("reduce: {n: sum}", window), ("expect:\n  rows: {kept: 200}\n", ""))
    warning = "slow.yaml:12:71 operators.sums.window.count: each record belongs to 70 windows"
    assert f"warning: {warning}" in flowsim("check", scenario).out
    assert flowsim("check", scenario, "--json").document["warnings"][0].startswith(warning)
    called = flowsim("run", scenario, "--json")
    assert called.document["warnings"][0].startswith(warning)
    assert f"warning: {warning}" in called.err
    assert (
        f"warning: {warning}"
        in flowsim("explore", scenario, "--space", "runtime", "--runs", "1", "--record", "elements").err
    )


def test_check_reports_every_error_with_line_and_column(flowsim: Any, write: Any) -> None:
    scenario = write("e.yaml", ("input: sums,", "input: sum,"), append="faults: [{fault: nothing_like_it}]\n")
    called = flowsim("check", scenario)
    assert called.code == 2
    assert "e.yaml:14:17 sinks.kept.input:" in called.err
    assert "e.yaml:17:18 faults[0].fault:" in called.err


def test_graph_prints_chains_parallelism_and_partitioners(flowsim: Any, write: Any) -> None:
    scenario = write("g.yaml", ("operators:", "operators:\n  even: {input: numbers, filter: n % 2 == 0}"))
    scenario.write_text(scenario.read_text().replace("input: numbers, key_by", "input: even, key_by"))
    assert flowsim("graph", scenario).out == (
        "tiny: 3 tasks, 4 subtasks\n"
        "\n[0] Source: numbers -> even\n    parallelism 1, max parallelism 128\n    --HASH--> [1] sums\n"
        "\n[1] sums\n    parallelism 2, max parallelism 128\n    --REBALANCE--> [2] Sink: kept\n"
        "\n[2] Sink: kept\n    parallelism 1, max parallelism 128\n"
    )
    mermaid = flowsim("graph", scenario, "--format", "mermaid").out
    assert mermaid.startswith("flowchart LR\n")
    assert "    t0o0 --> t0o1\n" in mermaid
    assert '  t0o1 ==>|"HASH"| t1o0\n' in mermaid
    assert [task["parallelism"] for task in flowsim("graph", scenario, "--json").document["tasks"]] == [1, 2, 1]


@pytest.mark.filterwarnings("ignore::DeprecationWarning:pydot")
def test_graph_in_dot_has_a_cluster_per_task_and_all_edges(flowsim: Any, write: Any) -> None:
    scenario = write("g.yaml", ("operators:", "operators:\n  even: {input: numbers, filter: n % 2 == 0}"))
    scenario.write_text(scenario.read_text().replace("input: numbers, key_by", "input: even, key_by"))
    (parsed,) = pydot.graph_from_dot_data(flowsim("graph", scenario, "--format", "dot").out)
    assert parsed.get_name() == '"tiny"'
    clusters = {
        cluster.get_label(): [node.get_label() for node in cluster.get_nodes()] for cluster in parsed.get_subgraphs()
    }
    assert clusters == {
        '"task 0, parallelism 1"': ['"Source: numbers"', '"even"'],
        '"task 1, parallelism 2"': ['"sums"'],
        '"task 2, parallelism 1"': ['"Sink: kept"'],
    }
    edges = [edge for part in (parsed, *parsed.get_subgraphs()) for edge in part.get_edges()]
    assert {(edge.get_source(), edge.get_destination(), edge.get_label()) for edge in edges} == {
        ("t0o0", "t0o1", None), ("t0o1", "t1o0", '"HASH"'), ("t1o0", "t2o0", '"REBALANCE"'),
    }  # fmt: skip


def test_graph_prints_task_managers_and_exchange_modes(flowsim: Any, write: Any) -> None:
    scenario = write("g.yaml", ("input: sums,", "input: sums, exchange: pipelined,"))
    placed = ("--set", "settings.task_managers={left: [numbers, sums/1]}")
    assert flowsim("graph", scenario, *placed).out == (
        "tiny: 3 tasks, 4 subtasks\n"
        "\n[0] Source: numbers\n    parallelism 1, max parallelism 128\n    on left: 0\n    --HASH--> [1] sums\n"
        "\n[1] sums\n    parallelism 2, max parallelism 128\n    on one task manager each: 0, left: 1\n"
        "    --REBALANCE pipelined--> [2] Sink: kept\n"
        "\n[2] Sink: kept\n    parallelism 1, max parallelism 128\n    on one task manager each: 0\n"
    )
    document = flowsim("graph", scenario, *placed, "--json").document
    assert [task["task_managers"] for task in document["tasks"]] == [["left"], ["sums (1)", "left"], ["Sink: kept (1)"]]
    assert [edge["exchange"] for edge in document["edges"]] == ["pipelined_bounded", "pipelined"]


def test_graph_shows_slot_sharing_groups_and_the_chains_that_they_cut(flowsim: Any, write: Any) -> None:
    scenario = write("g.yaml", ("operators:", "operators:\n  even: {input: numbers, filter: n >= 0}"))
    scenario.write_text(scenario.read_text().replace("input: numbers, key_by", "input: even, key_by"))
    grouped = ("--set", "operators.even.slot_sharing_group=heavy", "--set", "sinks.kept.slot_sharing_group=default")
    assert flowsim("graph", scenario, *grouped).out == (
        "tiny: 4 tasks, 5 subtasks\nslots in Flink: 3 (by slot sharing group: default 1, heavy 2)\n"
        "\n[0] Source: numbers\n    parallelism 1, max parallelism 128\n    slot sharing group default\n"
        "    --FORWARD--> [1] even\n"
        "\n[1] even\n    parallelism 1, max parallelism 128\n    slot sharing group heavy\n    --HASH--> [2] sums\n"
        "\n[2] sums\n    parallelism 2, max parallelism 128\n    slot sharing group heavy\n"
        "    --REBALANCE--> [3] Sink: kept\n"
        "\n[3] Sink: kept\n    parallelism 1, max parallelism 128\n    slot sharing group default\n"
    )
    title = "task 1, parallelism 1, slot sharing group heavy"
    assert f'subgraph t1["{title}"]' in flowsim("graph", scenario, *grouped, "--format", "mermaid").out
    assert f'label="{title}"' in flowsim("graph", scenario, *grouped, "--format", "dot").out
    document = flowsim("graph", scenario, *grouped, "--json").document
    assert document["slots"] == {"default": 1, "heavy": 2}
    assert [task["slot_sharing_group"] for task in document["tasks"]] == ["default", "heavy", "heavy", "default"]
    assert flowsim("run", scenario, *grouped).code == 0


def test_slot_sharing_group_of_a_source_is_inherited(flowsim: Any, write: Any) -> None:
    document = flowsim("graph", write("g.yaml"), "--set", "sources.numbers.slot_sharing_group=s", "--json").document
    assert document["slots"] == {"s": 2}


COSTS = ("--strategy", "costs", "--laws", "all")


def test_explore_counts_laws_and_writes_nothing(flowsim: Any, tmp_path: Path) -> None:
    called = flowsim("explore", "tiny.yaml", *COSTS, "--runs", 5, "--json")
    assert called.code == 0
    assert (called.document["runs"], called.document["checked"]) == (5, 5)
    assert called.document["laws"]["key-routing"] == {"rows_examined": 1000, "holds": 5}
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.yaml"]


def test_explore_stops_at_first_finding_with_reproducing_command(flowsim: Any, write: Any) -> None:
    scenario = write("f.yaml", ("rows: {kept: 200}", "rows: {kept: 199}"), append=DROP)
    called = flowsim("explore", scenario, *COSTS, "--runs", 5, "--until-finding", "--json")
    found = called.document["findings"][0]
    assert (called.code, called.document["runs"]) == (1, 1)
    words = shlex.split(found["replay"])
    assert words[:4] == ["flowsim", "run", "f.yaml", "--token"]
    again = flowsim(*words[1:], "--json")
    report = shlex.split(found["report"])
    assert report[:5] == ["flowsim", "report", "out/f", "--open", "--at"]
    assert report[5].startswith("view=")
    assert Path(report[2], "recording").is_dir()
    assert again.code == 1
    assert again.document["digest"] == found["digest"]
    assert found["evidence"]


def test_explore_of_failing_job_exits_3_with_the_exception(flowsim: Any, write: Any) -> None:
    scenario = write(
        "bad.yaml",
        ("operators:", 'operators:\n  broken: {input: numbers, map: {add: {m: "100 // (n - 150)"}}}'),
        ("input: numbers, key_by", "input: broken, key_by"),
    )
    called = flowsim("explore", scenario, "--runs", 4)
    assert called.code == 3
    assert "ZeroDivisionError" in called.out


def test_explore_continues_after_a_finding(flowsim: Any, write: Any) -> None:
    document = flowsim("explore", write("f.yaml", append=DROP), *COSTS, "--runs", 3, "--json").document
    assert (document["runs"], document["findings"][0]["runs"]) == (3, 3)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "run",
        "watch",
        "play",
        "validate",
        "replay",
        "explore",
        "check",
        "graph",
        "new",
        "scenarios",
        "laws",
        "rules",
        "faults",
        "schema",
    ],
)
def test_every_command_has_help(flowsim: Any, command: str) -> None:
    called = flowsim(*command.split(), "--help")
    assert called.code == 0
    assert "Usage:" in called.out


def loaded(arguments: str, modules: tuple[str, ...], folder: Path) -> str:
    """Which of these modules a command imports in a new process."""
    program = (
        "import atexit, sys\n"
        f"atexit.register(lambda: print('loaded:', *(module for module in {modules!r} if module in sys.modules)))\n"
        f"sys.argv[1:] = {arguments.split()!r}\n"
        "from flowsim.cli.main import main\n"
        "main()\n"
    )
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    return run.stdout.splitlines()[-1]


HEAVY = ("pyspark", "pyarrow", "numpy", "pandas", "flowsim.cluster", "flowsim.datastream", "flowsim.scenario")


@pytest.mark.parametrize("arguments", ["--help", "--version", "nosuch", "--nosuch run"])
def test_start_of_command_group_loads_no_heavy_module(arguments: str, tmp_path: Path) -> None:
    assert loaded(arguments, HEAVY, tmp_path) == "loaded:"


def test_check_loads_no_runtime_and_run_no_pandas(flowsim: Flowsim, tmp_path: Path) -> None:
    """The fixture writes tiny.yaml, whose sink writes Parquet."""
    tiny = (tmp_path / "tiny.yaml").read_text()
    (tmp_path / "expects.yaml").write_text(tiny + "  laws: {channel-fifo: holds}\n")
    of_runs = ("flowsim.cluster.mini_cluster", "flowsim.tasks", "pyarrow", "numpy")
    of_laws = ("flowsim.laws.catalogue", "flowsim.validation")
    for checked in ("tiny.yaml", "expects.yaml"):
        assert flowsim("check", checked).code == 0
        heavy = ("flowsim.scenario", *of_laws, "pandas", *of_runs)
        assert loaded(f"check {checked}", heavy, tmp_path) == "loaded: flowsim.scenario"
    assert loaded("run tiny.yaml", ("pandas", *of_laws, *of_runs), tmp_path) == " ".join(["loaded:", *of_runs])


@pytest.mark.parametrize("name", sorted(CommandGroup().commands))
def test_command_list_has_first_help_line_of_each_command(name: str) -> None:
    entry = CommandGroup().commands[name]
    assert isinstance(entry, CommandEntry)
    command = entry.load()
    assert (command.name, command.help.split("\n\n")[0]) == (entry.name, entry.help)


def test_completion_of_options_loads_the_command() -> None:
    name, command, rest = CommandGroup().resolve_command(None, ["graph", "--fo"])
    assert (name, rest) == ("graph", ["--fo"])
    assert "--format" in [option for parameter in command.params for option in parameter.opts]
