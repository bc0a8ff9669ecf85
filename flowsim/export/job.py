"""The name of the job of a recording."""

from __future__ import annotations

from typing import Final

from flowsim.recording.reader import Recording
from flowsim.scenario.yaml.positions import read_document

_UNNAMED: Final = "Flink Streaming Job"
"""Flink's name of a job that has none."""


def job_name(recording: Recording) -> str:
    """Returns the name in the scenario; for a job built in Python, the name that Flink gives to a job without a name."""
    scenario = recording.manifest.run.scenario
    if scenario is None:
        return _UNNAMED
    document = read_document(scenario.text, scenario.path).value
    return str(document["name"]) if isinstance(document, dict) else _UNNAMED
