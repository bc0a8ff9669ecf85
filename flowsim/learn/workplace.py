"""The learner's folder of a lesson: the copy of the scenario, the recording, and the progress."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from flowsim.errors import BadInput
from flowsim.named_pipe import file_bytes
from flowsim.quantities import count_text
from flowsim.recording.written_file import write_file

SCENARIO_FILE: Final = "scenario.yaml"
PROGRESS_FILE: Final = "progress.json"


@dataclass(frozen=True, slots=True)
class Progress:
    """What the learner has done in a lesson."""

    right: int = 0
    """The number of right predictions of the last attempt."""
    questions: int = 0
    """The number of questions of the last attempt; 0: not answered yet."""
    checks: int = 0
    """How often the exercise was graded."""
    passed: bool = False
    """True if a graded scenario passed."""
    failed: int = 0
    """How many checks failed; each of them shows one more hint."""

    @property
    def text(self) -> str:
        """The progress in words; empty if there is none."""
        predicted = f"{self.right} of {count_text(self.questions, 'prediction')} right" if self.questions else ""
        graded = "" if not self.checks else "exercise passed" if self.passed else "exercise not passed yet"
        return ", ".join(part for part in (predicted, graded) if part)


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

    def progress(self) -> Progress:
        """Reads the progress. Raises BadInput if the file is damaged."""
        path = self.folder / PROGRESS_FILE
        try:
            stored = {"failed": 0} | json.loads(file_bytes(path))
            return Progress(**{name: type(default)(stored[name]) for name, default in asdict(Progress()).items()})
        except (FileNotFoundError, NotADirectoryError):
            return Progress()
        except (OSError, ValueError, TypeError, KeyError):
            raise BadInput(f"{path}: expected progress of a lesson: remove the file to start again") from None

    def predicted(self, right: int, questions: int) -> None:
        """Stores the result of an attempt."""
        self._store(replace(self.progress(), right=right, questions=questions))

    def graded(self, passed: bool) -> None:
        """Stores the result of a check; an exercise that was passed once stays passed."""
        before = self.progress()
        failed = before.failed + (not passed)
        self._store(replace(before, checks=before.checks + 1, passed=before.passed or passed, failed=failed))

    def _store(self, progress: Progress) -> None:
        path = self.folder / PROGRESS_FILE
        try:
            write_file(path, (json.dumps(asdict(progress), indent=2) + "\n").encode())
        except OSError as error:
            raise BadInput(f"{path}: cannot be written: {error.strerror or error}") from None
