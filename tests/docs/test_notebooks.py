"""Each notebook of the documentation has the outputs that its execution gives."""

from __future__ import annotations

import copy
from pathlib import Path

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

from tests.support.pages.notebooks import NOTEBOOKS, ROOT, executed, file_text, read, write_page


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebook_file_equals_its_execution(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == file_text(executed(read(path))), "write it again: make notebooks"


def test_docs_contain_notebooks() -> None:
    assert ROOT / "docs" / "notebooks" / "event_time.ipynb" in NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebook_is_valid_small_and_without_local_folders(path: Path) -> None:
    nbformat.validate(read(path))
    text = path.read_text(encoding="utf-8")
    assert len(text) < 100_000
    assert "/tmp" not in text
    assert " at 0x" not in text


@pytest.mark.slow
def test_notebook_whose_cell_raises_is_an_error() -> None:
    notebook = copy.deepcopy(read(NOTEBOOKS[0]))
    notebook.cells = [nbformat.v4.new_code_cell("import flowsim"), nbformat.v4.new_code_cell("flowsim.no_such_name")]
    with pytest.raises(CellExecutionError, match="no_such_name"):
        executed(notebook)


def test_notebook_page_has_texts_code_and_outputs(tmp_path: Path) -> None:
    output = nbformat.v4.new_output("execute_result", {"text/html": "<table><tr><td>7</td></tr></table>"})
    cells = [
        nbformat.v4.new_markdown_cell("# Title\n\nText."),
        nbformat.v4.new_code_cell("value = 7\nvalue", outputs=[output]),
    ]
    source = tmp_path / "some.ipynb"
    source.write_text(file_text(nbformat.v4.new_notebook(metadata=read(NOTEBOOKS[0]).metadata, cells=cells)))
    write_page(source, tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text()
    assert page.startswith("# Title\n\n[Notebook file](some.ipynb)\n\nText.\n")
    assert "```python\nvalue = 7\nvalue\n```" in page
    assert "<table><tr><td>7</td></tr></table>" in page
