"""docs/testing.md is executed: the guarantee holds, the wrong claim fails, and with the very error that the page shows."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from flowsim import testing
from flowsim.testing import Schedule, some_schedules

PAGE = Path(__file__).parents[3] / "docs" / "testing.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """All code of the page as one module."""
    path = tmp_path_factory.mktemp("docs") / "code_of_the_testing_page.py"
    path.write_text("\n\n".join(blocks("python")), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[path.stem]


def test_the_guarantee_of_the_page_holds(page: ModuleType) -> None:
    page.test_the_count_of_a_key_never_goes_back()


def test_the_windows_of_the_page_break_no_law(page: ModuleType) -> None:
    page.test_windows_of_every_kind_break_no_law()


def test_the_wrong_claim_of_the_page_fails_with_the_smallest_run_and_its_seed(page: ModuleType) -> None:
    shown = next(block for block in blocks("text") if block.startswith("AssertionError"))
    with pytest.raises(AssertionError) as failed:
        page.test_the_records_come_out_as_they_went_in()
    assert f"AssertionError: {failed.value}\n" == shown
    assert "seed=" in shown


@pytest.mark.parametrize("schedule", list(some_schedules(2)), ids=lambda schedule: schedule.token)
def test_the_plain_example_of_the_page_holds(page: ModuleType, schedule: Schedule) -> None:
    page.test_words_are_counted(schedule)


def test_the_random_jobs_of_the_page_give_what_they_must(page: ModuleType) -> None:
    page.test_every_number_comes_out_as_often_as_it_must()


def test_the_page_names_everything_public() -> None:
    text = PAGE.read_text(encoding="utf-8")
    bare = {"FIFO", "OneInputOperatorHarness", "some_schedules"}
    assert [name for name in testing.__all__ if name not in bare and name not in text] == []
