"""The pictures of README and docs/report.md are those that ``make report-pictures`` takes, and small."""

from __future__ import annotations

import re

from tests.support.pages.report_pictures import FOLDER, MOST_BYTES, PICTURES, ROOT


def test_pages_show_every_picture() -> None:
    pages = [(ROOT / name).read_text() for name in ("README.md", "docs/report.md")]
    shown = [name for page in pages for name in re.findall(r"\((?:docs/)?report/(\w+)\.png\)", page)]

    assert sorted(set(shown)) == sorted(picture.name for picture in PICTURES)
    assert {path.stem for path in FOLDER.iterdir()} == set(shown)


def test_pictures_are_small_and_have_the_width_of_the_page() -> None:
    for picture in PICTURES:
        content = (FOLDER / f"{picture.name}.png").read_bytes()
        assert content[:8] == b"\x89PNG\r\n\x1a\n"
        assert int.from_bytes(content[16:20]) == picture.width, picture.name
        assert len(content) <= MOST_BYTES, picture.name
