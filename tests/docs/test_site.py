"""The documentation site: builds without a warning, has every public name and every key, and loads nothing from elsewhere."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import flowsim
from flowsim.learn.lesson import lessons
from tests.support.pages.api_page import PACKAGES, public_names
from tests.support.pages.notebooks import NOTEBOOKS
from tests.support.pages.site_pages import MERMAID, ROOT, build

LOADED = {"script": "src", "img": "src", "iframe": "src", "link": "href"}
"""Tag -> the attribute that makes a browser load something."""

MOST_BYTES_OF_A_LESSON = 700_000
"""Its report with the viewer, which is most of it."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, with another script in place of the one that draws the diagrams."""
    folder = tmp_path_factory.mktemp("site")
    script = folder / "script.js"
    script.write_text("// draws nothing\n")
    build(folder / "pages", folder / "site", script)
    return folder / "site"


class Loads(HTMLParser):
    """What a page loads: scripts, styles, pictures, frames."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.urls: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag in LOADED and named.get("rel") not in ("prev", "next", "canonical"):
            self.urls.append(named.get(LOADED[tag]) or "")


@pytest.mark.slow
def test_site_has_a_page_for_every_markdown_page(site: Path) -> None:
    pages = [path.relative_to(ROOT) for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]]
    folders = [page.parent if page.name == "README.md" else page.with_suffix("") for page in pages]
    assert [str(folder) for folder in folders if not (site / folder / "index.html").is_file()] == []


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.name)
def test_page_of_a_notebook_has_its_tables_and_figures_and_its_file(site: Path, notebook: Path) -> None:
    folder = site / notebook.relative_to(ROOT).with_suffix("")
    page = (folder / "index.html").read_text()
    figures = [url for url in Loads(page).urls if url.startswith(f"../{notebook.stem}_files/")]
    assert len(figures) == notebook.read_text().count('"image/svg+xml"') > 0
    assert [url for url in figures if not (folder / url).is_file()] == []
    assert page.count("<table") >= notebook.read_text().count('"text/html"') > 0
    assert f'href="../{notebook.name}"' in page
    assert (folder.parent / notebook.name).read_bytes() == notebook.read_bytes()


@pytest.mark.slow
def test_page_of_a_lesson_asks_its_questions_and_leads_back_to_the_list(site: Path) -> None:
    for lesson in lessons():
        path = site / "docs" / "lessons" / lesson.name / "index.html"
        page = path.read_text()
        assert re.findall(r'<fieldset data-question="(\w+)"', page) == list(lesson.model.questions)
        assert '<a class="screen" href="../">All lessons</a>' in page
        assert f"grades learn/{lesson.name}/scenario.yaml" in page
        assert path.stat().st_size < MOST_BYTES_OF_A_LESSON


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
def test_reference_page_has_every_public_name(site: Path, package: str) -> None:
    page = (site / "reference" / package / "index.html").read_text()
    names = [name for name in public_names(package) if not name.startswith("__")]
    assert [name for name in names if f'id="{package}.{name}"' not in page] == []


@pytest.mark.slow
def test_no_page_loads_from_the_network(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    loaded = {str(page.relative_to(site)): Loads(page.read_text()).urls for page in pages}
    assert any(loaded.values())
    assert {page: [url for url in urls if re.match(r"(https?:)?//", url)] for page, urls in loaded.items()} == {
        page: [] for page in loaded
    }


@pytest.mark.slow
def test_only_pages_with_diagrams_load_the_mermaid_script(site: Path) -> None:
    drawn = {
        str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md") if "\n```mermaid\n" in path.read_text()
    }
    loading = {
        page for page in site.rglob("*.html") if any(url.endswith(MERMAID) for url in Loads(page.read_text()).urls)
    }
    assert drawn
    assert {str(page.parent.relative_to(site)) + ".md" for page in loading} == drawn


@pytest.mark.slow
def test_pages_are_searchable_and_name_the_release(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text())
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}
    assert {"", "docs/laws/", "docs/scenario/", "reference/flowsim.testing/"} <= found
    assert f"flowsim {flowsim.__version__}" in (site / "index.html").read_text()


def test_navigation_lists_every_public_package() -> None:
    listed = re.findall(r"^ +- reference/([\w.]+)\.md$", (ROOT / "mkdocs.yml").read_text(), re.M)
    assert listed == list(PACKAGES)


def test_navigation_lists_every_page_but_those_of_its_exceptions() -> None:
    """MkDocs names a page that is missing in the navigation only in its log, and serves it all the same."""
    config = (ROOT / "mkdocs.yml").read_text()
    exceptions = re.findall(r"^  (/.+/)$", config.partition("not_in_nav: |")[2].partition("\n\n")[0], re.M)
    listed = re.findall(r": ((?:docs/)?\w[\w/.]*\.md)$", config.partition("\nnav:\n")[2], re.M)
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    expected = {str(page.relative_to(ROOT)) for page in pages}
    hidden = {page for page in expected if any(f"/{page}".startswith(folder) for folder in exceptions)}
    notebooks = {str(path.relative_to(ROOT).with_suffix(".md")) for path in NOTEBOOKS}
    overviews = {"docs/decisions/README.md", "docs/lessons/README.md"}
    assert len(exceptions) == 4
    assert hidden > overviews
    assert set(listed) - {"scenarios/index.md"} == (expected - hidden) | overviews | notebooks
    assert len(listed) == len(set(listed))
