"""The pictures of docs/report.md are those that ``make report-pictures`` takes, and small."""

from __future__ import annotations

import re

from tests.support.pages.report_pictures import FOLDER, MOST_BYTES, PICTURES, ROOT


def test_page_shows_every_picture() -> None:
    shown = re.findall(r"\(report/(\w+)\.png\)", (ROOT / "docs/report.md").read_text())

    assert sorted(set(shown)) == sorted(picture.name for picture in PICTURES)
    assert {path.stem for path in FOLDER.iterdir()} == set(shown)


def test_pictures_are_small_and_have_the_width_of_the_page() -> None:
    for picture in PICTURES:
        content = (FOLDER / f"{picture.name}.png").read_bytes()
        assert content[:8] == b"\x89PNG\r\n\x1a\n"
        assert int.from_bytes(content[16:20]) == picture.width, picture.name
        assert len(content) <= MOST_BYTES, picture.name
