"""What ``make report-assets`` leaves: the viewer with its licences, and ``build.json`` with what it was built from."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[3]
WEB: Final = ROOT / "flowsim/report/web"
ASSETS: Final = ROOT / "flowsim/report/assets"
BUILD: Final = WEB / "build.json"
_BUILD_FOLDER: Final = ROOT / "build/viewer"
"""A copy of the sources with their packages: no package lies below flowsim/."""
_SOURCES: Final = ("index.html", "package.json", "tsconfig.json", "vite.config.js")
_LICENCE_FILES: Final = ("LICENSE", "LICENSE.md", "LICENSE.txt", "LICENCE")


def sources() -> list[Path]:
    """What the bundle depends on, but for the lock file."""
    found = (path for path in (WEB / "src").rglob("*") if path.is_file())
    return sorted([*(WEB / name for name in _SOURCES), *found])


def fingerprints() -> dict[str, str]:
    """SHA-256 of the sources, the lock file, and the built page."""
    digest = hashlib.sha256()
    for path in sources():
        digest.update(f"{path.relative_to(WEB).as_posix()}\n{_sha256(path)}\n".encode())
    return {
        "sources": digest.hexdigest(),
        "lock": _sha256(WEB / "package-lock.json"),
        "viewer": _sha256(ASSETS / "viewer.html"),
        "licences": _sha256(ASSETS / "THIRD_PARTY.txt"),
    }


def bundled() -> list[str]:
    """The packages in the page: the dependencies of the project, and theirs."""
    packages = json.loads((WEB / "package-lock.json").read_text())["packages"]
    found: dict[str, None] = {}
    waiting = sorted(packages[""]["dependencies"])
    while waiting:
        name = waiting.pop(0)
        if name not in found:
            found[name] = None
            waiting += sorted(packages[f"node_modules/{name}"].get("dependencies", {}))
    return sorted(found)


def third_party() -> str:
    """Name, version and licence of each bundled package, with the text of the licence."""
    packages = json.loads((WEB / "package-lock.json").read_text())["packages"]
    parts = ["viewer.html contains these packages."]
    for name in bundled():
        about = packages[f"node_modules/{name}"]
        (licence, *_) = _licence_files(name)
        parts.append(f"{name} {about['version']}, {about['license']}\n\n{licence.read_text(encoding='utf-8').strip()}")
    return f"\n\n{'-' * 80}\n".join(parts) + "\n"


def _licence_files(package: str) -> Iterator[Path]:
    for name in _LICENCE_FILES:
        path = _BUILD_FOLDER / "node_modules" / package / name
        if path.is_file():
            yield path


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> None:
    """Copies the built page and writes the files beside it."""
    shutil.copyfile(_BUILD_FOLDER / "built/index.html", ASSETS / "viewer.html")
    (ASSETS / "THIRD_PARTY.txt").write_text(third_party(), encoding="utf-8")
    BUILD.write_text(json.dumps(fingerprints(), indent=2) + "\n")


if __name__ == "__main__":
    main()
