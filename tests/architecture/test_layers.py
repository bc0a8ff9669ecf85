"""The import contracts hold, and the laws import nothing of the simulator."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import grimp

REPOSITORY = Path(__file__).parents[2]

THE_JUDGE_MAY_IMPORT = {
    "flowsim.distribution",
    "flowsim.errors",
    "flowsim.facts",
    "flowsim.facts.checkpoint_tables",
    "flowsim.facts.choice_table",
    "flowsim.facts.element_numbers",
    "flowsim.facts.kinds",
    "flowsim.facts.schema",
    "flowsim.facts.table",
    "flowsim.garbage_collection",
    "flowsim.limits",
    "flowsim.named_pipe",
    "flowsim.notebook_html",
    "flowsim.quantities",
    "flowsim.units",
    "flowsim.values",
    "flowsim.values.java_long",
    "flowsim.values.types",
}
OF_RECORDINGS = {
    "canonical",
    "digest",
    "directory_lock",
    "epoch_marker",
    "file_list",
    "frames",
    "graph_file",
    "manifest",
    "parquet_pages",
    "parquet_part",
    "reader",
    "recorded_file",
    "stored_json",
    "table_file",
    "written_file",
    "spark_views",
    "value_columns",
}
"""What reads them; what writes them is no part of the judge."""
OF_PARTS = {
    "canonical",
    "digest",
    "epoch_marker",
    "parquet_pages",
    "parquet_part",
    "table_file",
    "recorded_file",
    "value_columns",
}
"""What laws need of recordings: the files of epochs, and nothing of the manifest."""


def test_import_linter_contracts_hold() -> None:
    command = Path(sys.executable).with_name("lint-imports")
    run = subprocess.run([str(command)], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_validation_imports_only_schema_values_and_recording_readers() -> None:
    """Through any number of steps: a verdict must not rest on the code that it is about."""
    graph = grimp.build_graph("flowsim", cache_dir=None)
    judge = {"flowsim.laws", "flowsim.validation"}
    judge |= {module for package in sorted(judge) for module in graph.find_descendants(package)}
    reached = {module for part in judge for module in graph.find_upstream_modules(part)} - judge
    readers = {"flowsim.recording", *(f"flowsim.recording.{name}" for name in OF_RECORDINGS)}
    assert reached - readers - THE_JUDGE_MAY_IMPORT == set()


def test_laws_import_only_schema_values_and_recording_parts() -> None:
    graph = grimp.build_graph("flowsim", cache_dir=None)
    laws = {"flowsim.laws"} | graph.find_descendants("flowsim.laws")
    reached = {module for part in laws for module in graph.find_upstream_modules(part)} - laws
    parts = {"flowsim.recording", *(f"flowsim.recording.{name}" for name in OF_PARTS)}
    assert reached - parts - THE_JUDGE_MAY_IMPORT == set()


def test_forbidden_import_is_detected() -> None:
    graph = grimp.build_graph("flowsim", cache_dir=None)
    graph.add_import(importer="flowsim.validation.spark_session", imported="flowsim.sim.scheduler")
    assert "flowsim.sim.scheduler" in graph.find_upstream_modules("flowsim.validation.spark_session")
