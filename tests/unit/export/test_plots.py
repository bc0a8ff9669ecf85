"""Plots show the facts: their points are computed here a second time from the tables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flowsim
from flowsim import BadInput, MissingExtra, Recording, plot_event_time, plot_queues
from flowsim.units import MAX_WATERMARK

SCENARIOS = Path(__file__).parents[3] / "scenarios"
START_NS = 1_000_000_000


def recorded(name: str, out: Path, **options: Any) -> Recording:
    flowsim.run_scenario(SCENARIOS / name, out=out, record="full", **options)
    return flowsim.open_recording(out)


@pytest.fixture(scope="module")
def lateness(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return recorded("12_three_lateness_settings.yaml", tmp_path_factory.mktemp("lateness"))


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return recorded("03_slow_sink_backpressure.yaml", tmp_path_factory.mktemp("slow"), until_ns=20_000_000)


def lines(axes: Any) -> dict[str, list[tuple[float, float]]]:
    """The points of each line by its label."""
    return {
        line.get_label(): list(zip(*(np.asarray(values).tolist() for values in line.get_data()), strict=True))
        for line in axes.lines
    }


def rows(recording: Recording, table: str, task: int) -> list[dict[str, int]]:
    return [row for row in recording.table(table).to_pylist() if row["task"] == task]


def test_event_time_has_a_panel_per_subtask_that_receives_timestamps(lateness: Recording) -> None:
    figure = plot_event_time(lateness)
    names = lateness.table("tasks")["name"].to_pylist()
    assert [axes.get_title(loc="left") for axes in figure.axes] == names[1:]
    assert [axes.get_title(loc="left") for axes in plot_event_time(lateness, "kept").axes] == [names[2]]
    assert figure.axes[-1].get_xlabel() == "processing time since the start (us)"
    assert figure.axes[0].get_ylabel() == "event time (ms)"


@pytest.mark.parametrize("task", [1, 2, 3])
def test_event_time_shows_records_watermarks_fires_and_late_records(lateness: Recording, task: int) -> None:
    received = sorted(
        (*rows(lateness, "received", task), *rows(lateness, "task_watermark", task)), key=lambda r: r["seq"]
    )
    watermark, expected, at = -(2**63), {"record": [], "behind the watermark": [], "watermark": [], "late": []}, {}
    for row in received:
        us = (row["time_ns"] - START_NS) / 1000
        if "input" in row and row["timestamp"] < MAX_WATERMARK:
            watermark = row["timestamp"]
            expected["watermark"].append((us, watermark))
        elif "position" in row and row["kind"] == 0:
            at[row["timestamp"]] = us
            expected["record" if row["timestamp"] > watermark else "behind the watermark"].append(
                (us, row["timestamp"])
            )
    expected["late"] = [(at[row["timestamp"]], row["timestamp"]) for row in rows(lateness, "late_drop", task)]

    (axes,) = plot_event_time(lateness, str(task)).axes

    assert lines(axes) == expected
    (windows,) = axes.collections
    assert [segment.tolist() for segment in windows.get_segments()] == [
        [
            [(row["time_ns"] - START_NS) / 1000, row["window_start"]],
            [(row["time_ns"] - START_NS) / 1000, row["window_end"]],
        ]
        for row in rows(lateness, "window_fire", task)
    ]


def test_relative_event_time_is_the_difference_to_the_watermark(lateness: Recording) -> None:
    (axes,) = plot_event_time(lateness, "strict", relative=True).axes
    found = lines(axes)
    assert [y for _, y in found["behind the watermark"]] == [(7 - 8) / 1000, (5 - 11) / 1000, (6 - 14) / 1000]
    assert [y for _, y in found["late"]] == [(5 - 11) / 1000, (6 - 14) / 1000]
    assert [y for _, y in found["record"]] == [(12 - 11) / 1000]


def test_dates_are_shown_as_dates(tmp_path: Path) -> None:
    text = (SCENARIOS / "12_three_lateness_settings.yaml").read_text()
    scenario = text[: text.index("expect:")]
    for time in (2, 9, 7, 5, 12, 6):
        scenario = scenario.replace(f"timestamp: {time}}}", f"timestamp: {1_700_000_000_000 + time}}}")
    flowsim.run_scenario(scenario, out=tmp_path)
    (axes, *_) = plot_event_time(flowsim.open_recording(tmp_path)).axes
    assert axes.lines[0].get_ydata().dtype == np.dtype("datetime64[ms]")
    assert axes.get_ylabel() == "event time"


def test_queues_show_counters_of_each_channel(slow: Recording) -> None:
    queue, received, credits = [], [], []
    queued, held = 0, 0
    steps = [*slow.table("buffers").to_pylist(), *slow.table("credits").to_pylist()]
    for row in sorted(steps, key=lambda row: (row["task"], row["seq"])):
        ms = (row["time_ns"] - START_NS) / 1_000_000
        if "balance" in row:
            credits += [(ms, row["balance"])] if row["kind"] in (1, 3) else []
            continue
        change = {2: 1, 0: -row["whole"], 4: -row["whole"]}.get(row["side"], 0)
        queued += change
        queue += [(ms, queued)] if change else []
        credits += [(ms, row["credits"])] if row["side"] == 0 else []
        if row["side"] in (1, 5) and row["kind"] == 0:
            held += 1 if row["side"] == 1 else -1
            received.append((ms, held))

    (axes,) = plot_queues(slow).axes

    assert lines(axes) == {"queue": queue, "received buffers": received, "credits": credits}
    assert axes.get_title(loc="left") == "Source: numbers -> large (1/1) -> Sink: slow (1/1) #0"


def test_plots_select_channels_and_refuse_what_they_cannot_draw(lateness: Recording, tmp_path: Path) -> None:
    assert [axes.get_title(loc="left")[-2:] for axes in plot_queues(lateness, [2, 0]).axes] == ["#2", "#0"]
    assert len(plot_queues(lateness, 1).axes) == 1
    with pytest.raises(BadInput, match="channels 0 to 2, not 7"):
        plot_queues(lateness, 7)
    with pytest.raises(BadInput, match="no task has that number or name"):
        plot_event_time(lateness, "nothing")
    with pytest.raises(BadInput, match="no record with a timestamp"):
        plot_event_time(lateness, "0")
    many = recorded("12_three_lateness_settings.yaml", tmp_path / "many", overrides=["operators.strict.parallelism=13"])
    with pytest.raises(BadInput, match="28 panels are more than 12"):
        plot_queues(many)
    flowsim.run_scenario(SCENARIOS / "12_three_lateness_settings.yaml", out=tmp_path / "elements", record="elements")
    with pytest.raises(BadInput, match="record it at level full"):
        plot_queues(flowsim.open_recording(tmp_path / "elements"))


def test_plots_without_matplotlib_name_the_extra(lateness: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for plot in (plot_event_time, plot_queues):
        with pytest.raises(MissingExtra, match="needs the extra 'notebook'"):
            plot(lateness)
