"""The start page of a report: what the run is, what its sinks received, and where to look first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from flowsim.quantities import count_text
from flowsim.report.look_at import LookAt
from flowsim.report.sink_results import sink_results
from flowsim.scenario.first_comment import first_comment
from flowsim.why.run_facts import RunFacts

_NAME: Final = re.compile(r"^name:\s*['\"]?([^'\"#\s]+)", re.MULTILINE)


def start_page(facts: RunFacts, moments: Sequence[LookAt]) -> dict[str, Any]:
    """Returns the texts of the page. The verdicts of the laws and the scenario are in the report already."""
    run = facts.recording.manifest.run
    text = "" if run.scenario is None else run.scenario.text
    named = _NAME.search(text)
    return {
        "name": named[1] if named else None,
        "description": first_comment(text) or [_description(facts, run.scenario is None)],
        "results": sink_results(facts),
        "look_at": [one.as_data() for one in moments],
    }


def _description(facts: RunFacts, is_python: bool) -> str:
    """What a job without a comment consists of."""
    tasks = facts.graph.tasks.values()
    names = dict.fromkeys(task.name.rpartition(" (")[0] for task in tasks)
    what = "This job was built in Python." if is_python else "The scenario has no comment."
    chains = ", ".join(names) or "no task"
    return f"{what} It has {count_text(len(names), 'task')} with {count_text(len(tasks), 'subtask')}: {chains}."
