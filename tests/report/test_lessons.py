"""A lesson in a browser: predictions are typed and graded, and its links move the report. All lessons: ``--all-reports``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect
from typer.testing import CliRunner

from flowsim.cli.main import app
from flowsim.errors import BadInput
from flowsim.learn.answers import AnsweredQuestion, options, parsed
from flowsim.learn.lesson import lesson_named, names, read_lesson
from flowsim.learn.lesson_model import QuestionModel
from flowsim.learn.lesson_page import typed_text
from flowsim.learn.predictions import run_lesson
from tests.support.accessibility import violations
from tests.unit.learn.conftest import SMALL

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ANSWERS = {"strict": "3,6; 1,5", "late": "4,6", "forgiving": "3,6; 4,10; 1,5", "dropped": "1"}
SAMPLE = ("03_credits",)
COLOURS = "() => ['color', 'backgroundColor'].map((name) => getComputedStyle(document.body)[name])"
"""Of the text, and behind it."""
MARGIN = dict.fromkeys(("top", "right", "bottom", "left"), "14mm")
TRIED: dict[str, tuple[str, ...]] = {
    "order": ("a,1; b,2; a,3", "a,1\nb,2\na,3\n", "'a', 1;b,\"2\" ; a,3;", "a,3; b,2; a,1", "a,1; b,2", "none", "-", "", "; "),
    "names": ("a,b,a", "b; a; a", " B,a,a", "b,a,a,", "a,b", "None"),
    "many": ("3", " 3 ", "0,003", "4", "3.0", "three", "3 rows", "-3", ""),
    "when": ("20 ms", "20ms", "20", "20.4", "20.505", "20.6 ms", "2e1", "-20", "",
             "0.02 s", "20,000 us", "20005000 ns", "2 s", "20 min"),
    "which": ("a", "b"),
    "choice": ("a", "b"),
    "steps": ("b, a", "b a", "a, b", "b", "a a", ""),
}  # fmt: skip
"""Texts for the questions of the small lesson: right, wrong, spelled in another way, in another unit, of another form."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "shipped" in metafunc.fixturenames:
        metafunc.parametrize("shipped", names() if metafunc.config.option.all_reports else SAMPLE)


@pytest.fixture
def open_lesson(browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Page]]:
    """Calls ``flowsim learn NAME --open`` and opens the page; requests, messages and errors fail the test."""
    problems: list[str] = []
    pages: list[Page] = []
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)

    def show(*arguments: str) -> Page:
        called = CliRunner().invoke(app, ["learn", *arguments, "--open", "--dir", str(tmp_path / "learn")])
        assert called.exit_code in (0, 1), called.output
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.on("console", lambda message: problems.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on("request", lambda request: problems.append(request.url) if request.url != opened[-1] else None)
        page.goto(opened[-1])
        page.wait_for_selector("html[data-ready]")
        pages.append(page)
        return page

    yield show
    for page in pages:
        page.close()
    assert problems == []


@pytest.fixture
def small(tmp_path: Path) -> tuple[str, ...]:
    (tmp_path / "lessons").mkdir()
    (tmp_path / "lessons" / "01_small.md").write_text(SMALL)
    return "1", "--lessons", str(tmp_path / "lessons")


def answer(page: Page, name: str, question: QuestionModel, text: str) -> None:
    """Gives an answer as a learner does: by the keyboard, or by clicks."""
    box = page.locator(f'fieldset[data-question="{name}"]')
    if question.order is not None:
        for letter in text.split(", "):
            box.locator(f'button[data-letter="{letter}"]').click()
    elif options(question):
        box.locator(f'input[value="{text}"]').check()
    else:
        box.locator("input, textarea").press_sequentially(text)


def report_of(page: Page) -> FrameLocator:
    frame = page.frame_locator("iframe")
    frame.locator("html[data-ready]").wait_for()
    return frame


AT_FACT = "([task, seq]) => window.flowsim.model.facts.placeOf(task, seq) === window.flowsim.store.place.value"
"""Whether the cursor of the report is at a fact, which may be the case a moment after a click."""


def test_predictions_are_typed_and_graded_and_links_move_the_report(
    open_lesson: Callable[..., Page], shipped: str
) -> None:
    lesson = lesson_named(shipped)
    page = open_lesson(shipped)
    assert page.locator("iframe").count() == 0, "the report shows the answers"
    run = run_lesson(lesson, None)
    found = run.found
    for name, question in lesson.model.questions.items():
        answer(page, name, question, typed_text(question, found[name]))
    page.click("text=Grade my predictions")
    expect(page.locator("fieldset.right")).to_have_count(len(found))
    expect(page.locator("#score")).to_contain_text(f"{len(found)} of {len(found)} predictions right")
    frame, links = report_of(page), page.locator(".look a")
    assert links.count() == len(lesson.model.moments)
    for at, moment in enumerate(lesson.model.moments):
        links.nth(at).click()
        expect(frame.locator(f"#tab-{moment.view}")).to_have_attribute("aria-selected", "true")
        task, seq = run.moments[at].address.rpartition("fact=")[2].split(".")
        page.frames[1].wait_for_function(AT_FACT, arg=[int(task), int(seq)])
    # The report has tests of its own, and axe sends it a message, which Chromium refuses between local pages.
    page.locator("iframe").evaluate("frame => frame.remove()")
    assert violations(page) == []
    text = page.inner_text("main")
    assert "Exercise" in text
    assert f"flowsim learn {shipped} --dir" in text


def test_answer_that_is_missing_or_has_another_form_is_asked_for_again(
    open_lesson: Callable[..., Page], small: tuple[str, ...]
) -> None:
    page = open_lesson(*small)
    questions = read_lesson(Path(small[-1]) / "01_small.md").model.questions
    given = {
        "order": "a,1; b,2; a,3",
        "names": "b, a, a",
        "many": "three",
        "when": "0.02 s",
        "which": "b",
        "steps": "b, a",
    }
    for name, text in given.items():
        answer(page, name, questions[name], text)
    page.locator("input[name=many]").press("Enter")
    expect(page.locator("fieldset.refused .grade")).to_have_text(["expected a whole number", "no answer yet"])
    assert page.locator("input[name=many]").evaluate("one => one === document.activeElement")
    assert page.locator("iframe").count() == 0
    page.locator("input[name=many]").fill("4")
    answer(page, "choice", questions["choice"], "b")
    page.click("text=Grade my predictions")
    expect(page.locator("#score")).to_contain_text("6 of 7 predictions right")
    expect(page.locator("fieldset.wrong .grade")).to_contain_text("The run: 3")
    with page.expect_download() as saved:
        page.click("text=Save my predictions")
    assert json.loads(Path(saved.value.path()).read_text()) == given | {"many": "4", "choice": "b"}


def test_learner_who_gives_up_sees_the_answers_and_the_run(
    open_lesson: Callable[..., Page], small: tuple[str, ...]
) -> None:
    page = open_lesson(*small)
    page.click("text=I give up")
    expect(page.locator("fieldset.wrong")).to_have_count(7)
    expect(page.locator("#score")).to_contain_text("0 of 7 predictions right")
    assert "received" in report_of(page).locator("body").inner_text()


def test_printed_page_is_a_sheet_for_predictions(open_lesson: Callable[..., Page], small: tuple[str, ...]) -> None:
    page = open_lesson(*small)
    page.evaluate("window.print = () => (window.printed = true)")
    page.click("text=Print as a sheet")
    assert page.evaluate("window.printed")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(COLOURS) == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
    shown = page.inner_text("main")
    assert "\nName\nDate\n" in shown
    assert "a whole number" in shown
    assert "Number the events." in shown
    assert re.search("Grade|give up|Click", shown) is None
    fields = page.locator("input:not([type]), textarea")
    assert fields.evaluate_all("all => all.map((one) => one.getBoundingClientRect().height > 30)") == [True] * 4


def test_shipped_lesson_is_printed_on_two_pages(open_lesson: Callable[..., Page], shipped: str) -> None:
    page = open_lesson(shipped)
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4", margin=MARGIN))) == 2


def test_page_opens_graded_with_the_answers_of_a_file(
    open_lesson: Callable[..., Page], small: tuple[str, ...], tmp_path: Path
) -> None:
    answers = {
        "order": "none",
        "names": "b, a, a",
        "many": 3,
        "when": 20,
        "which": "out",
        "choice": "a",
        "steps": "b a",
    }
    (tmp_path / "answers.json").write_text(json.dumps(answers))
    page = open_lesson(*small, "--answers", str(tmp_path / "answers.json"))
    right = page.locator("fieldset.right").evaluate_all("all => all.map((one) => one.dataset.question)")
    assert right == ["names", "many", "when", "which", "steps"]


def test_page_and_command_grade_alike(open_lesson: Callable[..., Page], small: tuple[str, ...]) -> None:
    lesson = read_lesson(Path(small[-1]) / "01_small.md")
    found = run_lesson(lesson, None).found
    page = open_lesson(*small)

    def graded(name: str, text: str) -> bool | None:
        question = lesson.model.questions[name]
        try:
            return AnsweredQuestion(name, question, parsed(question, text), found[name]).is_right
        except BadInput:
            return None

    by_command = {name: [graded(name, text) for text in texts] for name, texts in TRIED.items()}
    by_page = page.evaluate(
        "all => Object.fromEntries(all.map(([name, texts]) => [name, texts.map((text) => grade(name, text))]))",
        list(TRIED.items()),
    )
    assert by_page == by_command
    assert {None, True, False} == {each for results in by_command.values() for each in results}
