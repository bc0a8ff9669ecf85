"""The progress of a class: the progress files of all learners below a folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from flowsim.errors import BadInput
from flowsim.learn.workplace import PROGRESS_FILE, Progress, read_progress
from flowsim.quantities import count_text

MOST_REPORTED: Final = 20
"""The most damaged files in one message."""


@dataclass(frozen=True, slots=True)
class LearnerProgress:
    """What one learner has done in one lesson."""

    learner: str
    """The learner's folder, as a path below the folder of the class."""
    lesson: str
    progress: Progress


@dataclass(frozen=True, slots=True)
class LessonSummary:
    """What the class has done in one lesson."""

    lesson: str
    learners: int
    predicted: int
    """The number of learners who have answered the questions."""
    right: int
    """The number of right predictions of all learners."""
    questions: int
    """The number of all predictions."""
    passed: int
    """The number of learners whose exercise passed."""
    wrong: dict[str, int]
    """By question, how many learners predicted it wrong; most often first, without those that all predicted right."""


def read_class(folder: Path) -> list[LearnerProgress]:
    """Reads ``LEARNER/LESSON/progress.json`` of all learners, by learner and lesson.

    Raises BadInput with the errors of all damaged files, or if there is no file.
    """
    if not folder.is_dir():
        raise BadInput(f"{folder}: there is no such folder")
    found: list[LearnerProgress] = []
    errors: list[str] = []
    for path in sorted(folder.rglob(f"[0-9]*/{PROGRESS_FILE}")):
        learner = path.parent.parent.relative_to(folder)
        try:
            found.append(LearnerProgress(learner.as_posix(), path.parent.name, read_progress(path)))
        except BadInput as error:
            errors.append(str(error))
    if errors:
        others = len(errors) - MOST_REPORTED
        more = [f"... and {count_text(others, 'more damaged file')}"] if others > 0 else []
        raise BadInput(
            "\n".join([*errors[:MOST_REPORTED], *more, "repair or remove these files, and repeat the command"])
        )
    if not found:
        raise BadInput(
            f"{folder}: there is no progress: expected files such as {folder}/ada/06_lateness/{PROGRESS_FILE}"
        )
    return found


def summaries(found: Sequence[LearnerProgress]) -> list[LessonSummary]:
    """Returns a summary of each lesson, by name."""
    return [_summary(name, [each.progress for each in found if each.lesson == name]) for name in _lessons(found)]


def _lessons(found: Sequence[LearnerProgress]) -> list[str]:
    return sorted({each.lesson for each in found})


def _summary(lesson: str, of: Sequence[Progress]) -> LessonSummary:
    wrong = Counter(name for each in of for name in each.wrong)
    return LessonSummary(
        lesson,
        learners=len(of),
        predicted=sum(each.questions > 0 for each in of),
        right=sum(each.right for each in of),
        questions=sum(each.questions for each in of),
        passed=sum(each.passed for each in of),
        wrong=dict(sorted(wrong.items(), key=lambda item: (-item[1], item[0]))),
    )
