"""A study as a plot: the axis is the varied number; each combination of the other keys has a line."""

from __future__ import annotations

import importlib.util
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from flowsim.errors import MissingExtra
from flowsim.studies.async_stage import AsyncStage
from flowsim.studies.run import Study, StudyRow, stage_of
from flowsim.studies.variation import Variation, short_names, value_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLORS: Final = ("#1b6ca8", "#c8553d", "#2a7f62", "#7b4b94", "#b8860b", "#4a4e69", "#008b8b", "#a0522d")
_MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*")
_STYLE: Final = {
    "svg.hashsalt": "flowsim",  # otherwise names of clip paths are random
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "legend.frameon": False,
}
_WIDE: Final = 8
"""An axis whose maximum is at least this many times its minimum is logarithmic."""

Measure = Callable[[StudyRow], float | None]


@dataclass(frozen=True, slots=True)
class _Panel:
    title: str
    unit: str
    solid: Measure
    dashed: Measure | None = None
    may_be_log: bool = False


def require_plotting() -> None:
    """Raises MissingExtra before a run whose plot could not be drawn."""
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtra("study", "the plot of a study (--no-plot skips it)")


def plot_svg(study: Study) -> bytes:
    """Returns ``study.svg``: the same study gives the same bytes with the same version of matplotlib.

    Raises MissingExtra.
    """
    require_plotting()
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    panels = _panels(study)
    across = 2 if len(panels) % 2 == 0 else min(len(panels), 3)
    down = math.ceil(len(panels) / across)
    written = io.BytesIO()
    with rc_context(_STYLE):  # type: ignore[arg-type]
        figure = Figure(figsize=(4.6 * across, 3.1 * down + 0.5), layout="constrained")
        FigureCanvasSVG(figure)
        grid = figure.subplots(down, across, squeeze=False)
        places = [axes for line in grid for axes in line]
        for axes, panel in zip(places, panels, strict=False):
            _draw(axes, study, panel)
        for axes in places[len(panels) :]:
            axes.set_visible(False)
        handles, labels = places[0].get_legend_handles_labels()
        if len(labels) > 1:
            figure.legend(handles, labels, loc="outside lower center", ncols=across)
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": "flowsim"})
    return written.getvalue()


def _panels(study: Study) -> list[_Panel]:
    panels = [_Panel("throughput", "records per second", lambda row: row.measures.records_per_s, may_be_log=True)]
    operators = study.async_operators
    for operator in operators:
        of_operator = f" of {operator}" if len(operators) > 1 else ""
        panels.append(
            _Panel(
                f"latency{of_operator}: median, dashed 99 %",
                "ms",
                _of_stage(operator, lambda stage: None if stage.latency is None else stage.latency.p50_ns / 1e6),
                _of_stage(operator, lambda stage: None if stage.latency is None else stage.latency.p99_ns / 1e6),
                may_be_log=True,
            )
        )
        panels.append(
            _Panel(
                f"completed but held in the queue{of_operator}",
                "% of that time",
                _of_stage(operator, lambda s: 100 * s.held_share),
            )
        )
    if not operators:
        panels.append(
            _Panel(
                "back-pressured, highest share of all tasks",
                "% of its time",
                lambda r: 100 * r.measures.most_back_pressured,
            )
        )
    panels.append(_Panel("late rows", "rows", lambda row: row.measures.late_rows))
    return panels


def _of_stage(operator: str, read: Callable[[AsyncStage], float | None]) -> Measure:
    def measure(row: StudyRow) -> float | None:
        stage = stage_of(row, operator)
        return None if stage is None else read(stage)

    return measure


def _axis(study: Study) -> Variation:
    return next((one for one in study.variations if one.is_numeric and len(one.values) > 1), study.variations[0])


def _draw(axes: Axes, study: Study, panel: _Panel) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis = _axis(study)
    names = short_names([variation.key for variation in study.variations])
    numbers = [float(value) for value in axis.values] if axis.is_numeric else list(range(len(axis.values)))  # type: ignore[arg-type]
    at = {value_text(value): number for value, number in zip(axis.values, numbers, strict=True)}
    drawn: list[float] = []
    for index, (label, rows) in enumerate(_lines(study, axis, names).items()):
        color, marker = _COLORS[index % len(_COLORS)], _MARKERS[index % len(_MARKERS)]
        for measure, style in ((panel.solid, "-"), (panel.dashed, "--")):
            if measure is None:
                continue
            points = [(at[value_text(row.combination.values[axis.key])], measure(row)) for row in rows]
            known = sorted((x, y) for x, y in points if y is not None)
            drawn += [y for _, y in known]
            axes.plot(
                [x for x, _ in known],
                [y for _, y in known],
                style,
                color=color,
                marker=marker,
                markersize=4,
                linewidth=1.4,
                label=label if style == "-" else "_nolegend_",
            )
    axes.set_title(panel.title, fontsize=9, loc="left")
    axes.set_xlabel(names[axis.key])
    axes.set_ylabel(panel.unit)
    if axis.is_numeric and _is_wide(numbers):
        axes.set_xscale("log")
    axes.set_xticks(numbers, [value_text(value) for value in axis.values])
    axes.set_xticks([], minor=True)
    if panel.may_be_log and _is_wide(drawn):
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        axes.set_ylim(bottom=0, top=None if any(drawn) else 1)


def _lines(study: Study, axis: Variation, names: dict[str, str]) -> dict[str, list[StudyRow]]:
    """Returns the rows of each line, by its legend."""
    others = [variation.key for variation in study.variations if variation is not axis and len(variation.values) > 1]
    lines: dict[str, list[StudyRow]] = {}
    for row in study.rows:
        label = ", ".join(f"{names[key]} {value_text(row.combination.values[key])}" for key in others) or study.name
        lines.setdefault(label, []).append(row)
    return lines


def _is_wide(numbers: Sequence[float]) -> bool:
    return bool(numbers) and min(numbers) > 0 and max(numbers) >= _WIDE * min(numbers)
