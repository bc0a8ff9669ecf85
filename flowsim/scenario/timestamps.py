"""Finds streams whose records certainly have no timestamps before an event-time operator.

For most streams the compiler knows whether records have a timestamp: file sources give none unless ``watermarks`` reads
them from the records; windows give their results one. If Python code decides, or a script sets timestamps for some
records only, the run must check.
"""

from __future__ import annotations

from collections.abc import Mapping

from flowsim.scenario.features.inputs import SecondInputModel
from flowsim.scenario.features.windows import PlainWindowModel
from flowsim.scenario.operators import OperatorModel
from flowsim.scenario.scenario_model import ScenarioModel
from flowsim.scenario.sources.sources import SourceModel
from flowsim.scenario.yaml.positions import Path
from flowsim.scenario.yaml.problems import Problems

ADVICE = (
    "add watermarks: {timestamp: ...} to its source or to an operator before it, or a timestamp to every record "
    "of its script"
)
"""Advice for the author of a scenario if an event-time operator received a record without a timestamp."""

MISSING_ADVICE = (
    "correct the record, or add missing_timestamp: drop, or missing_timestamp: {output: NAME}, to these watermarks"
)
"""Advice if a record has no timestamp where ``watermarks`` should read one."""

_KEEPING = ("map", "filter", "flat_map", "reduce", "sum", "min", "max", "min_by", "max_by", "async_calls")
"""The operators whose results keep the timestamp of the input record."""


def check_timestamps(model: ScenarioModel, problems: Problems) -> None:
    """Reports event-time operators that certainly read records without timestamps."""
    timeless: dict[str, str] = {}
    """The streams whose records have no timestamps, each with advice."""
    for name, source in model.sources.items():
        advice = _advice_for_source(name, source)
        if advice is not None:
            timeless[name] = advice
        timeless |= {f"{name}.{tag}": _without_timestamp(name) for tag in source.side_output_names()}
    for name, operator in model.operators.items():
        without = [read for read in _inputs(operator) if read in timeless]
        place = _event_time_place(operator)
        if place is not None and without:
            where, what = place
            problems.at(
                ("operators", name, *where),
                f"{what} needs timestamps, and the records of {without[0]!r} have none: {timeless[without[0]]}",
            )
        advice = _advice_for_results(name, operator, timeless)
        if advice is not None:
            timeless[name] = advice


def _without_timestamp(name: str) -> str:
    return f"{name!r} gave them none: add watermarks: {{timestamp: ...}} after it"


def _advice_for_source(name: str, source: SourceModel) -> str | None:
    """Returns advice if a source's records certainly have no timestamps; otherwise None."""
    if source.watermarks is not None or source.python is not None:
        return None
    if source.script is not None:
        records = [entry for entries in source.script.subtasks for entry in entries if entry.record is not None]
        if not records or any(entry.timestamp is not None for entry in records):
            return None
        return f"add a timestamp to the records of the script {name!r}, or watermarks: {{timestamp: ...}} to the source"
    if source.collection is not None and not source.collection.rows:
        return None
    return f"add watermarks: {{timestamp: ...}} to source {name!r}"


def _advice_for_results(name: str, operator: OperatorModel, timeless: Mapping[str, str]) -> str | None:
    """Returns advice if an operator's results certainly have no timestamps.

    Python code with timers may give timestamps to results.
    """
    if operator.alarm is not None and operator.alarm.time == "processing":
        return f"add watermarks: {{timestamp: alarm_ms}} after {name!r}, which uses processing time"
    is_kept = operator.window is None and any(getattr(operator, kind) is not None for kind in _KEEPING)
    two = operator.connect or operator.broadcast
    if not is_kept and (two is None or two.process is not None):
        return None
    # Records of a broadcast input emit nothing by themselves.
    advice = [timeless.get(read) for read in (_inputs(operator) if operator.connect is not None else operator.inputs())]
    return advice[0] if None not in advice else None


def _inputs(operator: OperatorModel) -> list[str]:
    _, block = operator.chosen
    if not isinstance(block, SecondInputModel):
        return operator.inputs()
    return [*operator.inputs(), *([block.to] if isinstance(block.to, str) else block.to)]


def _event_time_place(operator: OperatorModel) -> tuple[Path, str] | None:
    """Returns the part of an operator that fails for a record without a timestamp, and the part's name."""
    if operator.interval_join is not None:
        return ("interval_join",), "an interval join"
    if operator.alarm is not None:
        return (("alarm",), "an alarm in event time") if operator.alarm.time == "event" else None
    for kind, paired in (("join", operator.join), ("co_group", operator.co_group)):
        if paired is not None:
            return _window_place(paired.window, (kind, "window"))
    return None if operator.window is None else _window_place(operator.window, ("window",))


def _window_place(window: PlainWindowModel, path: Path) -> tuple[Path, str] | None:
    """Returns the part of a window that fails for a record without timestamp (rule 10.2).

    A session window accepts such a record, as the earliest possible record.
    """
    if window.time == "processing" or window.assigner not in ("tumbling", "sliding"):
        return None
    return (*path, window.assigner), f"a {window.assigner} window in event time"
