"""The committed viewer was built from the committed sources; runs without Node."""

from __future__ import annotations

import json
import re

from tests.support.pages.report_assets import ASSETS, BUILD, WEB, bundled, fingerprints

REBUILD = "run 'make report-assets', which needs Node, and commit flowsim/report/assets and web/build.json"


def test_viewer_was_built_from_these_sources() -> None:
    assert json.loads(BUILD.read_text()) == fingerprints(), REBUILD


def test_every_bundled_package_is_listed_with_its_licence() -> None:
    packages = json.loads((WEB / "package-lock.json").read_text())["packages"]
    text = (ASSETS / "THIRD_PARTY.txt").read_text()

    assert "preact" in bundled()
    for name in bundled():
        about = packages[f"node_modules/{name}"]
        assert about["license"] in ("MIT", "ISC")
        assert f"\n{name} {about['version']}, {about['license']}\n" in text


def test_versions_of_packages_are_exact() -> None:
    about = json.loads((WEB / "package.json").read_text())

    assert all(version[0].isdigit() for kind in ("dependencies", "devDependencies") for version in about[kind].values())


def test_only_one_file_of_the_viewer_writes_and_clips_on_canvases() -> None:
    sources = sorted((WEB / "src").rglob("*.ts*"))

    found = [path.name for path in sources if re.search(r"\.(fillText|strokeText|clip)\(", path.read_text("utf-8"))]

    assert found == ["canvas_text.ts"]
