"""Collects all errors of a scenario in one report, each with file, line and column."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from flowsim.errors import BadInput, ScenarioError
from flowsim.quantities import count_text
from flowsim.scenario.language.translator import ExpressionError
from flowsim.scenario.yaml.positions import Path, PositionedDocument, path_text

MAX_REPORTED: Final = 50
"""The most errors in one message."""
MAX_COLLECTED: Final = 200
"""The number of errors after which a scenario is not checked further: a message needs time to find similar names."""


class ScenarioErrors(ScenarioError):
    """One or more errors of one scenario, in the order of the file; the message has a line for each of the first.

    ``others``: the number of errors that have no message. ``all_found`` False: the check of the scenario stopped here.
    """

    def __init__(self, errors: Iterable[ScenarioError], others: int = 0, *, all_found: bool = True) -> None:
        ordered = sorted(dict.fromkeys(errors), key=_order)
        lines = [str(error) for error in ordered[:MAX_REPORTED]]
        rest = max(0, len(ordered) - MAX_REPORTED) + others
        if not all_found:
            lines.append(f"... and {count_text(rest, 'more error')}; the rest of the scenario was not checked")
        elif rest:
            lines.append(f"... and {count_text(rest, 'more error')}")
        super().__init__("\n".join(lines))
        self.errors = tuple(ordered)
        self.position = ordered[0].position if ordered else None


def _order(error: ScenarioError) -> tuple[str, int, int]:
    where = error.position
    return ("", 0, 0) if where is None else (where.file, where.line, where.column)


@dataclass(slots=True)
class Problems:
    """Collects errors while a scenario is checked, so that the user sees them together."""

    document: PositionedDocument
    errors: list[ScenarioError] = field(default_factory=list)
    others: int = 0
    """Number of further errors, which have no message."""
    _stopped: ScenarioErrors | None = None

    def place(self, path: Path) -> tuple[int, int]:
        """Line and column of the key at ``path``, to order paths as in the file."""
        where = self.document.key_position(path)
        return where.line, where.column

    def at(self, path: Path, message: str) -> None:
        """Adds an error in the value at ``path``."""
        self._add(ScenarioError(f"{path_text(path)}: {message}", self.document.position(path)))

    def at_key(self, path: Path, message: str) -> None:
        """Adds an error in the key at ``path``."""
        self._add(ScenarioError(f"{path_text(path)}: {message}", self.document.key_position(path)))

    def expression(self, path: Path, source: str, error: ExpressionError) -> None:
        """Adds an error inside the expression at ``path``.

        The column points into the expression if the expression is on one line.
        """
        where = self.document.position_inside(path, error.offset)
        shown = source if len(source) <= 60 else source[:57] + "..."
        message = f"{path_text(path)}: {error.message}, at character {error.offset + 1} of {shown!r}"
        self._add(ScenarioError(message, where))

    def bad_input(self, path: Path, error: BadInput) -> None:
        """Adds an error that another part of flowsim found in the value at ``path``."""
        self.at(path, str(error))

    def raise_any(self) -> None:
        """Raises ScenarioErrors if there are errors."""
        if self.errors:
            raise ScenarioErrors(self.errors, self.others)

    def _add(self, error: ScenarioError) -> None:
        if self._stopped is None:
            self.errors.append(error)
            if len(self.errors) < MAX_COLLECTED:
                return
            self._stopped = ScenarioErrors(self.errors, self.others, all_found=False)
        raise self._stopped
