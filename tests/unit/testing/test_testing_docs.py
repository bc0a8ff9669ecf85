"""The pages on tests name what `flowsim.testing` exports. Their code is run by tests/docs."""

from __future__ import annotations

from pathlib import Path

from flowsim import testing

DOCS = Path(__file__).parents[3] / "docs"
PAGES = [DOCS / "testing.md", DOCS / "compared_with_flink.md"]


def test_pages_name_every_public_name() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    bare = {"FIFO", "OneInputOperatorHarness", "some_schedules"}
    assert [name for name in testing.__all__ if name not in bare and name not in text] == []
