"""Adds what commands read from outside of the package to a wheel: pages of docs/, the JSON Schema and the scenarios.

An editable installation reads these files from the checkout, so they exist once. With FLOWSIM_COMPILE=1 a wheel also
carries the compiled core, and is for one Python and platform.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TOO_LARGE = {"scenarios/data/nyc_flights_2013.csv.gz"}
"""5 MB, more than the rest of the wheel; ``flowsim scenarios`` names the scenarios that need it."""


PAGES = (
    "docs/flink_rules.md",
    "docs/scenario.md",
    "docs/finishing.md",
    "docs/async_designs.md",
    "docs/tutorial/*.md",
    "docs/lessons/*.md",
)
"""The rules, the keys of scenarios, the lessons, and the pages whose sections lessons show."""


COMPILERS = ("mypy>=2.4,<2.5", "setuptools>=75")
"""What ``compile_core.py`` needs."""


def is_compiled() -> bool:
    """Whether the wheel carries the compiled core."""
    return os.environ.get("FLOWSIM_COMPILE") == "1"


def shipped_files(root: Path) -> list[str]:
    """The files that a wheel carries besides the package, relative to the checkout."""
    below = (path for path in sorted((root / "scenarios").rglob("*")) if path.is_file())
    scenarios = [path.relative_to(root).as_posix() for path in below if "__pycache__" not in path.parts]
    pages = [path.relative_to(root).as_posix() for pattern in PAGES for path in sorted(root.glob(pattern))]
    return [*pages, "docs/scenario.schema.json", *(name for name in scenarios if name not in TOO_LARGE)]


class ShippedFiles(BuildHookInterface):  # type: ignore[type-arg]
    """The build hook of wheels."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Maps each file to its place in ``flowsim/shipped``."""
        if version == "editable":
            return
        names = shipped_files(Path(self.root))
        build_data["force_include"].update({name: f"flowsim/shipped/{name}" for name in names})
        if is_compiled():
            subprocess.run([sys.executable, "build_scripts/compile_core.py"], cwd=self.root, check=True)
            build_data["force_include"]["flowsim/_compiled"] = "flowsim/_compiled"
            build_data["pure_python"] = False
            build_data["infer_tag"] = True

    def dependencies(self) -> list[str]:
        """What pip installs for the build besides hatchling."""
        return list(COMPILERS) if is_compiled() else []
