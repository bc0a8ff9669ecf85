"""The learner's folder of a lesson: the copy of the scenario, the recording, and the progress."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Self

from pydantic import Field, ValidationError, model_validator

from flowsim.errors import BadInput
from flowsim.quantities import count_text
from flowsim.recording.written_file import write_file
from flowsim.scenario.loader import read_text
from flowsim.scenario.types import Name, Strict
from flowsim.scenario.yaml.messages import report
from flowsim.scenario.yaml.positions import read_document
from flowsim.scenario.yaml.problems import Problems

SCENARIO_FILE: Final = "scenario.yaml"
PROGRESS_FILE: Final = "progress.json"
Count = Annotated[int, Field(ge=0)]


class Progress(Strict):
    """What the learner has done in a lesson."""

    right: Count = Field(default=0, description="The number of right predictions of the last attempt.")
    questions: Count = Field(default=0, description="The number of its questions; 0: not answered yet.")
    wrong: list[Name] = Field(default=[], description="The names of the questions whose predictions were wrong.")
    checks: Count = Field(default=0, description="How often the exercise was graded.")
    passed: bool = Field(default=False, description="True if a graded scenario passed.")
    failed: Count = Field(default=0, description="How many checks failed; each of them shows one more hint.")

    @model_validator(mode="after")
    def _counts_fit(self) -> Self:
        if self.right > self.questions:
            raise ValueError(f"{self.right} right predictions of {count_text(self.questions, 'question')}")
        return self

    @property
    def text(self) -> str:
        """The progress in words; empty if there is none."""
        predicted = f"{self.right} of {count_text(self.questions, 'prediction')} right" if self.questions else ""
        graded = "" if not self.checks else "exercise passed" if self.passed else "exercise not passed yet"
        return ", ".join(part for part in (predicted, graded) if part)


def read_progress(path: Path) -> Progress:
    """Reads a progress file. Raises ScenarioError with the positions of all errors."""
    text = read_text(path)
    document = read_document(text if text.strip() else "[]", str(path))
    problems = Problems(document)
    if not isinstance(document.value, dict):
        problems.at(
            (), f"expected the progress of a lesson, a mapping with the keys {', '.join(Progress.model_fields)}"
        )
        problems.raise_any()
    try:
        return Progress.model_validate(document.value)
    except ValidationError as error:
        report(error, Progress, document.value, problems)
        problems.raise_any()
        raise


@dataclass(frozen=True, slots=True)
class Workplace:
    """The folder of one lesson below the learner's folder."""

    folder: Path
    command: str = ""
    """The command that continues the lesson."""

    @property
    def scenario(self) -> Path:
        """The learner's copy, which the exercise changes."""
        return self.folder / SCENARIO_FILE

    @property
    def out(self) -> Path:
        """The recording of the lesson's own scenario."""
        return self.folder / "out"

    @property
    def report(self) -> Path:
        return self.folder / "report.html"

    @property
    def page(self) -> Path:
        """The lesson as one page for a browser."""
        return self.folder / "lesson.html"

    @property
    def progress_file(self) -> Path:
        return self.folder / PROGRESS_FILE

    def progress(self) -> Progress:
        """Reads the progress. Raises BadInput if the file is damaged."""
        if not self.progress_file.exists():
            return Progress()
        try:
            return read_progress(self.progress_file)
        except BadInput as error:
            raise BadInput(f"{error}\nremove the file to start the lesson again") from None

    def predicted(self, questions: int, wrong: list[str]) -> None:
        """Stores the result of an attempt; ``wrong``: the names of the questions with wrong predictions."""
        update = {"right": questions - len(wrong), "questions": questions, "wrong": wrong}
        self._store(self.progress().model_copy(update=update))

    def graded(self, passed: bool) -> None:
        """Stores the result of a check; an exercise that was passed once stays passed."""
        before = self.progress()
        update = {
            "checks": before.checks + 1,
            "passed": before.passed or passed,
            "failed": before.failed + (not passed),
        }
        self._store(before.model_copy(update=update))

    def _store(self, progress: Progress) -> None:
        try:
            write_file(self.progress_file, (json.dumps(progress.model_dump(), indent=2) + "\n").encode())
        except OSError as error:
            raise BadInput(f"{self.progress_file}: cannot be written: {error.strerror or error}") from None
