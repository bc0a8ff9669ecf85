"""Saves are noticed: by writing, by renaming, in a folder that was replaced, and without events of the file system."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest

from flowsim.cli.watching.file_stamps import exactly, stamps_of
from flowsim.cli.watching.saved_files import SavedFiles

PATIENCE_S = 60
"""Events come within a second; this bounds a test that fails."""


@pytest.fixture
def saves() -> SimpleQueue[str]:
    return SimpleQueue()


@pytest.fixture
def files(saves: SimpleQueue[str]) -> Iterator[SavedFiles]:
    files = SavedFiles(lambda: saves.put("saved"))
    yield files
    files.end()


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir()
    file = tmp_path / "folder/s.yaml"
    file.write_text("old")
    return file


def renamed(file: Path) -> None:
    aside = file.with_suffix(".new")
    aside.write_text("newer")
    aside.replace(file)


def in_new_folder(file: Path) -> None:
    file.parent.rename(file.parent.with_name("before"))
    file.parent.mkdir()
    file.write_text("newer")


@pytest.mark.parametrize("save", [lambda file: file.write_text("newer"), renamed, in_new_folder, Path.unlink])
def test_save_is_noticed(
    files: SavedFiles, saves: SimpleQueue[str], scenario: Path, save: Callable[[Path], object]
) -> None:
    files.follow(stamps_of([exactly(scenario)]))
    save(scenario)
    assert saves.get(timeout=PATIENCE_S) == "saved"


def test_save_between_the_stamps_and_the_begin_is_noticed(
    files: SavedFiles, saves: SimpleQueue[str], scenario: Path
) -> None:
    before = stamps_of([exactly(scenario)])
    renamed(scenario)
    files.follow(before)
    assert saves.get(timeout=PATIENCE_S) == "saved"


def test_save_is_noticed_where_the_folder_cannot_be_watched(
    files: SavedFiles, saves: SimpleQueue[str], scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_more(*folders: str, **options: object) -> Iterator[object]:
        raise OSError("OS file watch limit reached")
        yield

    monkeypatch.setattr("flowsim.cli.watching.saved_files.watch", no_more)
    files.follow(stamps_of([exactly(scenario)]))
    renamed(scenario)
    assert saves.get(timeout=PATIENCE_S) == "saved"


def test_other_files_are_not_reported(files: SavedFiles, saves: SimpleQueue[str], scenario: Path) -> None:
    """The save of the followed file comes after that of the other one, and is the only one."""
    files.follow(stamps_of([exactly(scenario)]))
    renamed(scenario.with_name("other.yaml"))
    renamed(scenario)
    assert saves.get(timeout=PATIENCE_S) == "saved"
    with pytest.raises(Empty):
        saves.get_nowait()


def test_files_of_an_earlier_call_are_not_followed_any_more(
    files: SavedFiles, saves: SimpleQueue[str], scenario: Path
) -> None:
    other = scenario.with_name("other.yaml")
    files.follow(stamps_of([exactly(scenario)]))
    files.follow(stamps_of([exactly(other)]))
    renamed(scenario)
    renamed(other)
    assert saves.get(timeout=PATIENCE_S) == "saved"
    with pytest.raises(Empty):
        saves.get_nowait()


def test_save_is_reported_once(
    files: SavedFiles, saves: SimpleQueue[str], scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = threading.Event()

    def looks(folders: object, stop: object) -> Iterator[object]:
        yield "before the save"
        renamed(scenario)
        yield "after it"
        yield "nothing new"
        looked.set()

    monkeypatch.setattr("flowsim.cli.watching.saved_files._events", looks)
    files.follow(stamps_of([exactly(scenario)]))
    assert looked.wait(PATIENCE_S)
    assert saves.qsize() == 1
