"""The files for contributors: what they name exists, and their formats are valid."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from ruamel.yaml import YAML

import flowsim

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text()

IGNORED = (ROOT / ".gitignore").read_text().splitlines()

CODE = re.compile(r"`([^`\n]+)`")
PLACEHOLDER = re.compile(r"<\w+>")


def named_paths(text: str) -> set[str]:
    """The paths of the checkout in the text, placeholders such as ``<law>`` included."""
    tops = {path.name for path in ROOT.iterdir()} - {"build"}  # what commands build is not in a fresh checkout
    return {code for code in CODE.findall(text) if "/" in code and code.partition("/")[0] in tops and " " not in code}


@pytest.mark.parametrize("path", sorted(named_paths(GUIDE)))
def test_path_in_guide_exists(path: str) -> None:
    """A placeholder stands for what there is in that place already; fragments of the change log come and go.

    What is built is not in a fresh checkout, nor is it there without a C compiler; Git ignores it.
    """
    if path.startswith("changelog.d/+") or f"{path.rstrip('/')}/" in IGNORED:
        return
    assert any(ROOT.glob(PLACEHOLDER.sub("*", path))), path


def test_what_is_to_be_found_is_where_the_guide_says() -> None:
    section = re.split(r"^## ", GUIDE, flags=re.M)[2]
    assert section.startswith("Where to find it\n")
    places = re.findall(r"`([\w.]+)` in `(flowsim/[\w/]+\.py)`", section)
    assert len(places) >= 12
    for name, path in places:
        owner, _, method = name.partition(".")
        text = (ROOT / path).read_text()
        definition = re.search(rf"^(?:class|def) {owner}\b", text, re.M)
        assert definition, f"{path} defines no {owner}"
        assert not method or f"    def {method}(" in text[definition.end() :], f"{path} defines no {name}"


def test_make_targets_in_guide_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    named = set(re.findall(r"`?make ([a-z-]+)", GUIDE)) | set(re.findall(r"^make ([a-z-]+)", GUIDE, re.M))
    assert named
    assert named <= targets


def test_every_mark_is_described_in_guide() -> None:
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert sorted(re.findall(r"^\| `(\w+)` \| [^|]+ \| [^|]*\|$", GUIDE, re.M)) == sorted(
        marker.partition(":")[0] for marker in options["markers"]
    )


def test_how_to_add_lists_have_three_entries_at_most() -> None:
    sections = re.split(r"^## ", GUIDE, flags=re.M)
    additions = [section for section in sections if section.startswith("How to add")]
    assert [len(re.findall(r"^\d\. ", section, re.M)) for section in additions] == [3, 3, 1, 3, 3, 3, 1, 2]


# The version and the change log.


def test_citation_and_changelog_have_package_version() -> None:
    citation = YAML(typ="safe").load(ROOT / "CITATION.cff")
    assert citation["version"] == flowsim.__version__
    headings = re.findall(r"^## (\S+) \((\S+)\)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert headings[0] == (flowsim.__version__, str(citation["date-released"]))


def test_fragments_become_a_changelog_section(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    fragments = tmp_path / "changelog.d"
    fragments.mkdir()
    shutil.copy(ROOT / "changelog.d" / "README.md", fragments)
    for kind in ("added", "changed", "fixed", "removed"):
        (fragments / f"+example.{kind}.md").write_text(f"An example of {kind}.\n")
    command = [sys.executable, "-m", "towncrier", "build", "--yes", "--version", "9.9.9", "--date", "2030-01-01"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    section = (tmp_path / "CHANGELOG.md").read_text().split("<!-- releases -->\n", 1)[1]
    expected = [f"### {kind.title()}\n\n- An example of {kind}." for kind in ("added", "changed", "fixed", "removed")]
    assert section.lstrip().startswith("## 9.9.9 (2030-01-01)\n\n" + "\n\n".join(expected) + "\n")
    assert [path.name for path in fragments.iterdir()] == ["README.md"]


def test_every_fragment_has_a_known_type() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]["type"]
    types = {entry["directory"] for entry in table}
    assert types == set(re.findall(r"^\| `(\w+)` \|", (ROOT / "changelog.d" / "README.md").read_text(), re.M))
    fragments = {path.name for path in (ROOT / "changelog.d").iterdir()} - {"README.md"}
    assert [name for name in fragments if name.split(".")[1:] not in [[kind, "md"] for kind in types]] == []


# Formats that the hosting service reads.

SCHEMAS = {
    "CITATION.cff": "vendor.citation-file-format",
    ".github/ISSUE_TEMPLATE/config.yml": "vendor.github-issue-config",
    **{
        str(path.relative_to(ROOT)): "vendor.github-issue-forms"
        for path in sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
        if path.name != "config.yml"
    },
}


@pytest.mark.parametrize("path", SCHEMAS)
def test_hosting_file_satisfies_its_schema(path: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", SCHEMAS[path], str(ROOT / path)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_codespell_finds_no_misspelling() -> None:
    """Misspellings on purpose are listed in pyproject.toml."""
    pages = [path.name for path in ROOT.glob("*.md")]
    command = [sys.executable, "-m", "codespell_lib", *pages, "docs", "flowsim", "scenarios"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
