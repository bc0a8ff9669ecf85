"""Builds the documentation site: the pages of the project, those that are derived from the code, and the diagrams' script.

Run by ``make site``: ``python -m tests.support.pages.site_pages PAGES SITE MERMAID_SCRIPT``. The pages keep their places in the
checkout, so that their links hold in both.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import flowsim
from flowsim.cli.commands.learn import write_lesson_page
from flowsim.learn.lesson import lessons
from flowsim.learn.predictions import run_lesson
from flowsim.learn.workplace import Workplace
from tests.support.pages.api_page import PACKAGES, public_names
from tests.support.pages.notebooks import NOTEBOOKS, write_page

ROOT: Final = Path(__file__).parents[3]
MERMAID: Final = "assets/mermaid.min.js"


def copy_pages(pages: Path, mermaid_script: Path) -> None:
    """Writes everything that MkDocs reads into the empty folder ``pages``."""
    for source in _sources():
        target = pages / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            target.write_text(with_pages_of_notebooks(source.read_text(encoding="utf-8")), encoding="utf-8")
        else:
            shutil.copyfile(source, target)
    for notebook in NOTEBOOKS:
        write_page(notebook, (pages / notebook.relative_to(ROOT)).with_suffix(".md"))
    (pages / "scenarios" / "index.md").write_text(scenarios_page())
    reference = pages / "reference"
    reference.mkdir()
    for package in PACKAGES:
        (reference / f"{package}.md").write_text(reference_page(package))
    (pages / MERMAID).parent.mkdir()
    shutil.copyfile(mermaid_script, pages / MERMAID)


def _sources() -> Iterator[Path]:
    """The pages of the checkout, and the files that they link to."""
    yield from ROOT.glob("*.md")
    yield ROOT / "LICENSE"
    yield ROOT / "changelog.d" / "README.md"
    theme = ROOT / "docs" / "theme"
    yield from (path for path in (ROOT / "docs").rglob("*.*") if path.is_file() and theme not in path.parents)
    scenarios = ROOT / "scenarios"
    yield from (path for path in scenarios.rglob("*.*") if path.suffix in (".md", ".py", ".yaml"))


def with_pages_of_notebooks(text: str) -> str:
    """A page with links to the pages of notebooks in place of links to their files."""
    return re.sub(r"(\]\([^)\s:]*)\.ipynb\)", r"\1.md)", text)


def reference_page(package: str) -> str:
    """The public names of a package, each with what mkdocstrings makes of its docstring."""
    names = [f"::: {package}.{name}" for name in public_names(package) if not name.startswith("__")]
    return "\n\n".join([f"# `{package}`", *names]) + "\n"


def scenarios_page() -> str:
    """The scenarios that ship, each with its first comment."""
    lines = ["# Scenarios that ship", ""]
    for path in sorted((ROOT / "scenarios").glob("*.yaml")):
        comment = re.match(r"(?:#.*\n)+", path.read_text(encoding="utf-8"))
        text = " ".join(line.lstrip("# ") for line in comment[0].splitlines()) if comment else ""
        lines.append(f"- [{path.stem}]({path.name}): {text}")
    return "\n".join(lines) + "\n"


def build(pages: Path, site: Path, mermaid_script: Path) -> None:
    """Builds the site strictly: a warning raises RuntimeError."""
    for folder in (pages, site):
        shutil.rmtree(folder, ignore_errors=True)
    pages.mkdir(parents=True)
    copy_pages(pages, mermaid_script)
    release = f"flowsim {flowsim.__version__}"
    environment = {
        **os.environ,
        "FLOWSIM_PAGES": str(pages.resolve()),
        "FLOWSIM_RELEASE": release,
        "NO_MKDOCS_2_WARNING": "1",
    }
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site.resolve())]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        warnings = [line for line in run.stderr.splitlines() if line.startswith(("WARNING", "ERROR"))]
        raise RuntimeError("the site has errors:\n" + "\n".join(warnings))
    write_lessons(site.resolve() / "docs" / "lessons")


def write_lessons(folder: Path) -> None:
    """Replaces the page of each lesson by the one that ``flowsim learn NAME --open`` writes, which asks and grades."""
    # The pages name files as they do for a learner in an empty folder.
    with TemporaryDirectory() as empty, chdir(empty):
        for lesson in lessons():
            place = Workplace(Path("learn") / lesson.name, f"flowsim learn {lesson.name}")
            run = run_lesson(lesson, place.out)
            write_lesson_page(lesson, run, place, None, quiet=True, lessons="../")
            shutil.copyfile(place.page, folder / lesson.name / "index.html")


if __name__ == "__main__":
    build(*map(Path, sys.argv[1:4]))
