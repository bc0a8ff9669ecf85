"""A lesson as one page: the problem, fields for predictions, their grades, and then the report and the exercise."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any, Final

from markdown_it import MarkdownIt

from flowsim.learn.answers import NO_ROWS, NUMBER, WHOLE_NUMBER, Value, form, options, text_of, units
from flowsim.learn.lesson import Lesson
from flowsim.learn.lesson_model import QuestionModel
from flowsim.learn.predictions import LessonRun
from flowsim.learn.sections import without_links

_SCRIPT: Final = re.compile(r"<script>(.*?)</script>", re.DOTALL)
_ALLOWED_SCRIPT: Final = re.compile(r"script-src ('sha256-[^;]+);")
_MARKDOWN: Final = MarkdownIt("commonmark", {"html": False}).enable("table")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a page names outside of itself."""

    scenario: str
    """The learner's copy of the scenario, which the exercise changes."""
    command: str
    """The command that continues the lesson."""
    lessons: str = ""
    """The address of the list of lessons; '': the page has no link to it."""


def lesson_page(
    lesson: Lesson, run: LessonRun, report: str, around: Surroundings, given: Mapping[str, Value] | None = None
) -> str:
    """Returns the lesson as HTML; ``report`` is the page of its run. With ``given`` it opens with these predictions graded.

    The page makes no connection: its policy allows its own script and that of the report, which lies in a frame.
    """
    template = files("flowsim.learn").joinpath("lesson_page.html").read_text(encoding="utf-8")
    (script,) = _SCRIPT.findall(template)
    allowed = _ALLOWED_SCRIPT.search(report)
    own = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{own}' {allowed[1] if allowed else ''}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    questions = lesson.model.questions
    grading = {
        "lesson": lesson.name,
        "questions": {name: _marking(each, run.found[name]) for name, each in questions.items()},
        "given": None if given is None else {name: typed_text(questions[name], value) for name, value in given.items()},
    }
    parts = {
        "policy": policy,
        "title": escape(lesson.title),
        "name": escape(lesson.name),
        "minutes": str(lesson.model.minutes),
        "back": f'<a class="screen" href="{escape(around.lessons)}">All lessons</a>' if around.lessons else "",
        "problem": _html(lesson.problem),
        "scenario": escape(lesson.scenario.text.strip("\n")),
        "questions": "\n".join(_fields(questions)),
        "moments": "\n".join(
            f'<li><a href="#report" data-address="{escape(moment.address)}">{_inline(moment.look)}</a></li>'
            for moment in run.moments
        ),
        "reading": "\n".join(_reading(lesson)),
        "exercise": _html(lesson.exercise),
        "copy": escape(around.scenario),
        "command": escape(around.command),
        # Not to hide them from a reader who wants them, but from one who only looks at the source.
        "grading": b64encode(json.dumps(grading, ensure_ascii=False).encode()).decode(),
        "report": report.replace("&", "&amp;").replace(chr(34), "&quot;"),
    }
    return re.sub(r"\{\{ (\w+) \}\}", lambda place: parts[place[1]], template)


def _html(text: str) -> str:
    # A block that is wider than the page scrolls, also by keys.
    return str(_MARKDOWN.render(without_links(text))).replace("<pre>", '<pre tabindex="0">')


def _inline(text: str) -> str:
    return str(_MARKDOWN.renderInline(text))


def _reading(lesson: Lesson) -> Iterator[str]:
    for page, text in lesson.reading():
        others = ", ".join(lesson.others_in(text))
        note = f"The run below is that of {others}: its times and numbers are not those of your run." if others else ""
        yield f'<section class="reading">{_html(text)}<p class="faint">{escape(note)} From docs/{escape(page)}</p></section>'


def _fields(questions: Mapping[str, QuestionModel]) -> Iterator[str]:
    for number, (name, question) in enumerate(questions.items(), start=1):
        key = escape(name)
        yield (
            f'<fieldset data-question="{key}"><legend>{number}. {_inline(question.ask)}</legend>'
            f'{_control(key, question)}<p class="form" id="form-{key}">{_hint(question)}</p>'
            f'<p class="grade" role="status"></p></fieldset>'
        )


def _hint(question: QuestionModel) -> str:
    if question.order is not None:
        screen, paper = "Click the events in their order; click one again to take it out.", "Number the events."
        return f'<span class="screen">{screen}</span><span class="paper">{paper}</span>'
    return "" if options(question) else escape(f"Answer: {form(question)}")


def _control(key: str, question: QuestionModel) -> str:
    if question.order is not None:
        buttons = [
            f'<li><button type="button" data-letter="{letter}"><b></b> <span>{_inline(text)}</span></button></li>'
            for letter, text in options(question)
        ]
        return f'<ul class="order">{"".join(buttons)}</ul>'
    if offered := options(question):
        return "".join(
            f'<label><input type="radio" name="{key}" value="{letter}"> {_inline(text)}</label>'
            for letter, text in offered
        )
    label = f'name="{key}" aria-label="{escape(question.ask)}" aria-describedby="form-{key}"'
    if question.results is not None and not question.results.has_one_column:
        return f'<textarea {label} rows="3" spellcheck="false"></textarea>'
    return f'<input {label} autocomplete="off" spellcheck="false">'


def _marking(question: QuestionModel, found: Value) -> dict[str, Any]:
    """Returns how the page compares an answer with that of the run: the same comparison as ``AnsweredQuestion``."""
    marking: dict[str, Any] = {
        "right": found if isinstance(found, tuple | int | float) else [found],
        "shown": text_of(question, found),
        "because": None if question.because is None else _inline(question.because),
        "form": form(question),
    }
    if question.results is not None:
        columns = {"one_column": question.results.has_one_column, "any_order": question.results.any_order}
        return marking | {"kind": "rows", "none": NO_ROWS} | columns
    if options(question):
        return marking | {"kind": "letters", "ordered": question.order is not None}
    pattern = WHOLE_NUMBER if question.number is None else NUMBER
    tolerance = 0 if question.number is None else question.number.tolerance
    return marking | {"kind": "number", "pattern": pattern, "units": units(question), "within": tolerance}


def typed_text(question: QuestionModel, value: Value) -> str:
    """Returns an answer as a learner types it."""
    if options(question):
        return value if isinstance(value, str) else ", ".join(map(str, value)) if isinstance(value, tuple) else ""
    return text_of(question, value)
