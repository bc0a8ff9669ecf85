"""docs/testing.md names what `flowsim.testing` exports. Its code is run by tests/docs."""

from __future__ import annotations

from pathlib import Path

from flowsim import testing

PAGE = Path(__file__).parents[3] / "docs" / "testing.md"


def test_page_names_every_public_name() -> None:
    text = PAGE.read_text(encoding="utf-8")
    bare = {"FIFO", "OneInputOperatorHarness", "some_schedules"}
    assert [name for name in testing.__all__ if name not in bare and name not in text] == []
