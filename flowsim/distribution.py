"""The installed distribution: its version, its name, its other files, and the command that adds an extra.

The distribution has another name than the package, because ``flowsim`` is an unrelated package on PyPI.
"""

from __future__ import annotations

import json
import shlex
import tomllib
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

__version__ = "0.3.0"
"""The version of flowsim."""

DISTRIBUTION: Final = "flowsim-flink"


def install_command(extra: str) -> str:
    """Returns the command that adds an extra to this installation; the command works in every directory.

    The command names a source checkout by its path, even if the checkout is only on ``PYTHONPATH``, and a wheel by the
    file that was installed, because no index has the distribution. Without the file, its name works in the same
    environment only, where pip finds it installed.
    """
    root = Path(__file__).resolve().parents[1]
    if _is_checkout(root):
        return f"pip install -e {shlex.quote(f'{root}[{extra}]')}"
    wheel = _installed_wheel(root)
    return f"pip install {shlex.quote(f'{DISTRIBUTION if wheel is None else wheel}[{extra}]')}"


def shipped(name: str) -> Path:
    """Returns the path of a file or folder that comes with flowsim, such as ``docs/flink_rules.md`` or ``scenarios``.

    A wheel carries a copy inside the package; a checkout, also in editable mode, has the file itself.
    """
    package = Path(__file__).resolve().parent
    copies = package / "shipped"
    return (copies if copies.is_dir() else package.parent) / name


def _installed_wheel(site_packages: Path) -> Path | None:
    """Returns the wheel file that was installed, as pip and uv note it (PEP 610); None if it is gone or was no file."""
    (folder, *_) = (*site_packages.glob(f"{DISTRIBUTION.replace('-', '_')}-*.dist-info"), site_packages)
    try:
        url = json.loads((folder / "direct_url.json").read_text(encoding="utf-8"))["url"]
        wheel = Path(unquote(urlsplit(url).path))
        return wheel if url.startswith("file:") and wheel.suffix == ".whl" and wheel.is_file() else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _is_checkout(root: Path) -> bool:
    try:
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8")).get("project")
    except (OSError, ValueError):
        return False
    return isinstance(project, dict) and project.get("name") == DISTRIBUTION
