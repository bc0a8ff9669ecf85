"""The notebooks of the documentation: executes them, and converts them to pages of the site.

``make notebooks`` runs ``python -m tests.support.pages.notebooks``, which writes the outputs of every notebook into its file.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import nbformat
from nbclient import NotebookClient
from nbconvert import MarkdownExporter
from nbformat import NotebookNode
from traitlets.config import Config

ROOT: Final = Path(__file__).parents[3]
NOTEBOOKS: Final = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))

_METADATA: Final = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
"""Without the versions of the interpreter."""

# Figures as SVG with text as text: small, and the same bytes at every execution.
_KERNEL_CONFIG: Final = """\
c.InlineBackend.figure_formats = {"svg"}
c.InlineBackend.print_figure_kwargs = {"bbox_inches": "tight", "metadata": {"Date": None, "Creator": None}}
c.InlineBackend.rc = {"svg.fonttype": "none", "svg.hashsalt": "flowsim"}
c.HistoryManager.enabled = False
"""


def read(path: Path) -> NotebookNode:
    """A notebook as its file has it."""
    return nbformat.read(path, as_version=4)


def executed(notebook: NotebookNode) -> NotebookNode:
    """A copy with the outputs of an execution in an empty folder; raises CellExecutionError."""
    copy = nbformat.from_dict({**notebook, "cells": [_without_output(cell) for cell in notebook.cells]})
    with tempfile.TemporaryDirectory() as folder, _kernel_environment(Path(folder)):
        work = Path(folder, "work")
        work.mkdir()
        sockets = Config({"KernelManager": {"transport": "ipc", "ip": str(Path(folder, "kernel"))}})
        place = {"metadata": {"path": str(work)}}
        NotebookClient(copy, kernel_name="python3", timeout=120, resources=place, config=sockets).execute()
    copy.metadata = nbformat.from_dict(_METADATA)
    for cell in copy.cells:
        cell.metadata.pop("execution", None)
    return copy


def _without_output(cell: NotebookNode) -> NotebookNode:
    return NotebookNode(cell | {"outputs": [], "execution_count": None}) if cell.cell_type == "code" else cell


@contextmanager
def _kernel_environment(folder: Path) -> Iterator[None]:
    """Settings of kernels that start meanwhile: this checkout, and no configuration of the user."""
    profile = folder / "ipython" / "profile_default"
    profile.mkdir(parents=True)
    (profile / "ipython_kernel_config.py").write_text(_KERNEL_CONFIG)
    ours = {
        "IPYTHONDIR": str(folder / "ipython"),
        "JUPYTER_CONFIG_DIR": str(folder / "jupyter"),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "PYTHONPATH": str(ROOT),
    }
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def file_text(notebook: NotebookNode) -> str:
    """The content of its file."""
    text: str = nbformat.writes(notebook)
    return text + "\n"


def write_page(path: Path, page: Path) -> None:
    """Writes a notebook with the outputs of its file as Markdown, its figures as files, and itself, all side by side."""
    figures = {"metadata": {"name": path.stem}, "output_files_dir": f"{path.stem}_files"}
    body, resources = MarkdownExporter().from_notebook_node(read(path), figures)
    page.parent.mkdir(parents=True, exist_ok=True)
    title, _, rest = body.lstrip().partition("\n")
    page.write_text(f"{title}\n\n[Notebook file]({path.name})\n{rest}", encoding="utf-8")
    for name, content in resources["outputs"].items():
        (page.parent / name).parent.mkdir(exist_ok=True)
        (page.parent / name).write_bytes(content)


if __name__ == "__main__":
    for notebook in NOTEBOOKS:
        notebook.write_text(file_text(executed(read(notebook))), encoding="utf-8")
