"""True sentences with one other number: a check that accepts most of them compares too little."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from tests.support.truth.recorded_run import RecordedRun
from tests.support.why_truth import Pattern, Sentences

MOST_OF_A_PATTERN = 12
DIGIT = re.compile(r"\d")


class AlteredSentences(Sentences):
    """Checks each sentence, and then the first ones of each pattern again with one digit changed in each group."""

    def __init__(self, patterns: Sequence[Pattern], left_out: Sequence[str]) -> None:
        """``left_out``: names of groups, such as values of records, with which another true sentence may come out."""
        super().__init__(patterns)
        self._left_out = left_out
        self.altered: Counter[str] = Counter()
        self.noticed: Counter[str] = Counter()
        self.accepted: dict[str, str] = {}

    def check(self, run: RecordedRun, now: int, text: str, before: Sequence[str] = ()) -> None:
        super().check(run, now, text, before)
        pattern, found = next(
            (pattern, found) for pattern, regex in self._patterns if (found := regex.fullmatch(text)) is not None
        )
        for name in found.re.groupindex:
            if self.altered[pattern.name] >= MOST_OF_A_PATTERN or name in self._left_out or not found[name]:
                continue
            other = DIGIT.sub(lambda digit: str((int(digit[0]) + 1) % 10), found[name], count=1)
            if other == found[name]:
                continue
            begin, end = found.span(name)
            altered = text[:begin] + other + text[end:]
            self.altered[pattern.name] += 1
            try:
                super().check(run, now, altered, before)
            except (AssertionError, LookupError, ValueError):
                self.noticed[pattern.name] += 1
            else:
                self.accepted.setdefault(pattern.name, altered)

    @property
    def weak(self) -> dict[str, str]:
        """An accepted sentence of each pattern of which fewer than half were noticed."""
        return {name: text for name, text in self.accepted.items() if 2 * self.noticed[name] < self.altered[name] > 2}
