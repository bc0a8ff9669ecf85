"""A study as JSON and CSV for programs, and as a Markdown table for readers."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Final

from flowsim.quantities import rounded_duration_text, rounded_text
from flowsim.studies.async_stage import AsyncStage
from flowsim.studies.directory import KEY
from flowsim.studies.run import Study, StudyRow, stage_of
from flowsim.studies.variation import short_names, value_text

_NONE: Final = "-"


def study_data(study: Study) -> dict[str, object]:
    """Returns a study as JSON values; the same runs give the same data."""
    return {
        KEY: 1,
        "scenario": study.name,
        "scenario_digest": study.scenario_digest,
        "seed": study.seed,
        "set": list(study.overrides),
        "vary": {variation.key: list(variation.values) for variation in study.variations},
        "complete": study.is_complete,
        "rows": [row_data(row) for row in study.rows],
    }


def row_data(row: StudyRow) -> dict[str, object]:
    """Returns one combination as JSON values: times in ns of the job's clock, shares from 0 to 1."""
    measures = row.measures
    return {
        "values": dict(row.combination.values),
        "status": row.status,
        "error": row.error,
        "elapsed_ns": measures.elapsed_ns,
        "records": measures.records,
        "records_per_s": measures.records_per_s,
        "back_pressured": dict(measures.back_pressured),
        "late": dict(measures.late),
        "async": {stage.operator: _stage_data(stage) for stage in measures.stages},
    }


def json_text(study: Study) -> str:
    """Returns the text of ``study.json``."""
    return json.dumps(study_data(study), indent=2, ensure_ascii=False) + "\n"


def csv_text(study: Study) -> str:
    """Returns the text of ``study.csv``: a line per combination; an async operator's columns begin with its name."""
    flat = [_flat(row) for row in study.rows]
    names = list(dict.fromkeys(name for row in flat for name in row))
    written = io.StringIO()
    writer = csv.DictWriter(written, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return written.getvalue()


def table_text(study: Study) -> str:
    """Returns the text of ``study.md``."""
    headings, rows = table_of(study)
    left = len(study.variations)
    lines = [headings, ["---" if index < left else "---:" for index in range(len(headings))], *rows]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


def table_of(study: Study) -> tuple[list[str], list[list[str]]]:
    """Returns headings and cells for readers; the varied keys are the first columns."""
    keys = [variation.key for variation in study.variations]
    names = short_names(keys)
    headings = [*(names[key] for key in keys), "records/s"]
    operators = study.async_operators
    for operator in operators:
        prefix = f"{operator}: " if len(operators) > 1 else ""
        headings += [prefix + heading for heading in _STAGE_COLUMNS]
    headings += ["late rows", "back-pressured", "end"]
    has_status = any(row.status != "finished" for row in study.rows)
    rows = []
    for row in study.rows:
        cells = [*(value_text(row.combination.values[key]) for key in keys), rounded_text(row.measures.records_per_s)]
        for operator in operators:
            stage = stage_of(row, operator)
            cells += [_NONE if stage is None else show(stage) for show in _STAGE_COLUMNS.values()]
        cells += [f"{row.measures.late_rows:,}", f"{row.measures.most_back_pressured:.1%}"]
        cells += [rounded_duration_text(row.measures.elapsed_ns)]
        rows.append([*cells, row.status] if has_status else cells)
    return [*headings, "status"] if has_status else headings, rows


def _percentile(which: str) -> Callable[[AsyncStage], str]:
    def show(stage: AsyncStage) -> str:
        return _NONE if stage.latency is None else rounded_duration_text(getattr(stage.latency, which))

    return show


_STAGE_COLUMNS: Final[dict[str, Callable[[AsyncStage], str]]] = {
    "latency p50": _percentile("p50_ns"),
    "p90": _percentile("p90_ns"),
    "p99": _percentile("p99_ns"),
    "max": _percentile("max_ns"),
    "held": lambda stage: f"{stage.held_share:.1%}",
    "full": lambda stage: f"{stage.full_share:.1%}",
    "in flight": lambda stage: rounded_text(stage.mean_records),
    "peak": lambda stage: str(stage.peak_queued),
}


def _stage_data(stage: AsyncStage) -> dict[str, object]:
    data = asdict(stage)
    del data["operator"]
    return data


def _flat(row: StudyRow) -> dict[str, object]:
    measures = row.measures
    flat: dict[str, object] = {
        **{key: value_text(value) for key, value in row.combination.values.items()},
        "status": row.status,
        "elapsed_ns": measures.elapsed_ns,
        "records": measures.records,
        "records_per_s": measures.records_per_s,
        "most_back_pressured": measures.most_back_pressured,
        "late_rows": measures.late_rows,
    }
    for stage in measures.stages:
        for name, value in _stage_data(stage).items():
            if isinstance(value, dict):
                flat |= {f"{stage.operator}.{name}.{which}": percentile for which, percentile in value.items()}
            elif value is not None:
                flat[f"{stage.operator}.{name}"] = value
    return flat
