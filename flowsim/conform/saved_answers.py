"""What Flink answered, as a file that later comparisons use without Java (``docs/conform.md``)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from flowsim.conform.seen import Answer, SeenElement
from flowsim.errors import BadInput

FORMAT_VERSION: Final = 1
"""The version of the format, key ``flowsim_conform``."""
FLINK_VERSION: Final = "2.3.0"


@dataclass(frozen=True)
class SavedAnswers:
    """The answers of all repetitions to one job or program."""

    name: str
    digests: Sequence[str]
    """The digest of each phase; of a program, that of the program."""
    scenario: str | None
    """The text of the scenario or program; None for a job that a function builds."""
    runs: Sequence[Sequence[Answer]]

    def write(self, folder: Path) -> Path:
        """Writes the file of this job into a folder, which is created; returns its path. Raises BadInput."""
        path = saved_path(folder, self.name)
        document = {
            "flowsim_conform": FORMAT_VERSION,
            "flink": FLINK_VERSION,
            "name": self.name,
            "plans": list(self.digests),
            "scenario": self.scenario,
            "runs": [[_answer_data(answer) for answer in run] for run in self.runs],
        }
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(document) + "\n", encoding="utf-8")
        except OSError as error:
            raise BadInput(f"{path}: cannot be written: {error.strerror or error}") from None
        return path

    @staticmethod
    def read(folder: Path, name: str) -> SavedAnswers:
        """Reads the file of a job. Raises BadInput if it is missing, damaged, or of another version."""
        path = saved_path(folder, name)
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise BadInput(
                f"{path}: there is no such file: write it with  flowsim conform ... --save {folder}"
            ) from None
        except (OSError, ValueError) as error:
            raise BadInput(f"{path}: cannot be read: {error}") from None
        found = document.get("flowsim_conform") if isinstance(document, dict) else None
        if found != FORMAT_VERSION:
            raise BadInput(f"{path}: expected saved answers with flowsim_conform {FORMAT_VERSION}, got {found!r}")
        try:
            runs = [[_answer(data) for data in run] for run in document["runs"]]
            saved = SavedAnswers(document["name"], document["plans"], document["scenario"], runs)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadInput(f"{path}: is damaged ({type(error).__name__}: {error}): save it again") from None
        if not runs or any(len(run) != len(saved.digests) for run in runs):
            raise BadInput(f"{path}: is damaged (a run without answers): save it again")
        return saved

    def check(self, digests: Sequence[str], folder: Path) -> None:
        """Raises BadInput if these are the answers to another job."""
        if list(self.digests) != list(digests):
            raise BadInput(
                f"{saved_path(folder, self.name)}: has the answers to another job: the scenario, the program, its arguments, "
                "or an option such as --set, has changed since; save them again"
            )


def saved_path(folder: Path, name: str) -> Path:
    """Returns the path of the answers to a job of this name."""
    return folder / ("".join(each if each.isalnum() or each in "-_." else "_" for each in name) + ".json")


def _answer_data(answer: Answer) -> dict[str, object]:
    return {
        "status": answer.status,
        "task": answer.task,
        "cause": answer.cause,
        "checkpoints": list(answer.checkpoints),
        "commits": {sink: list(values) for sink, values in answer.commits.items()},
        "seen": {place: [list(element) for element in elements] for place, elements in answer.seen.items()},
    }


def _answer(data: Any) -> Answer:
    seen = {place: [SeenElement(*element) for element in elements] for place, elements in data["seen"].items()}
    return Answer(data["status"], seen, data["cause"], data["task"], data["checkpoints"], data["commits"])
