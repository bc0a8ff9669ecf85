"""The table of ``docs/testing.md`` with the features that scenarios can have; ``make docs`` writes it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Final

from flowsim.testing import FAMILIES, numbered_scenario
from flowsim.testing.drawing.features import FEATURES, features_of

PAGE: Final = Path(__file__).parents[3] / "docs" / "testing.md"
DRAWN: Final = 100
"""Scenarios of each family."""
_NAMES: Final = " | ".join(f"`{family}`" for family in FAMILIES)
HEAD: Final = f"| feature | in the scenario | {_NAMES} |\n|---|---|{'---|' * len(FAMILIES)}\n"


def counted() -> dict[str, Counter[str]]:
    """Returns how many of the first scenarios of each family have each feature."""
    found = {family: Counter[str]() for family in FAMILIES}
    for family, counts in found.items():
        for number in range(DRAWN):
            counts.update(features_of(numbered_scenario(number, family=family, determined=False).data))
    return found


def features_page(page: str) -> str:
    """Returns the page with the table made again."""
    found = counted()
    rows = "".join(
        f"| {name} | {feature.keys} | {' | '.join(str(found[family][name] or '') for family in FAMILIES)} |\n"
        for name, feature in FEATURES.items()
    )
    table = re.search(rf"{re.escape(HEAD)}(?:\|.*\n)*", page)
    assert table is not None, "the page has no table of features"
    return page[: table.start()] + HEAD + rows + page[table.end() :]


if __name__ == "__main__":
    PAGE.write_text(features_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
