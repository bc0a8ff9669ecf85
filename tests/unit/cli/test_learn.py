"""``flowsim learn``: the list, the questions on a terminal and in a file, the grade, and invalid input."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from flowsim.cli.commands import learn
from flowsim.learn.lesson import lesson_named, names
from flowsim.recording.reader import Recording
from tests.unit.learn.conftest import RIGHT, SMALL

SOLVED = ("{sleep: 20 ms}, {record: [a, 3]}", "{sleep: 20 ms}")


@pytest.fixture
def small(tmp_path: Path) -> list[str]:
    """Writes a small lesson and the right answers; returns the options that select the lesson's folder."""
    (tmp_path / "lessons").mkdir()
    (tmp_path / "lessons" / "01_small.md").write_text(SMALL)
    (tmp_path / "right.json").write_text(json.dumps(RIGHT))
    (tmp_path / "wrong.json").write_text(json.dumps(RIGHT | {"many": 4}))
    return ["--lessons", "lessons"]


def test_list_has_every_lesson(flowsim: Any) -> None:
    assert [each["lesson"] for each in flowsim("learn", "--json").document] == names()
    assert "06_lateness" in flowsim("learn").out


def test_start_writes_the_scenario_and_prints_the_questions(flowsim: Any, small: list[str], tmp_path: Path) -> None:
    called = flowsim("learn", "1", *small)
    assert called.code == 0
    assert "Three records." in called.out
    assert "3. many: How many?\n   a whole number\n" in called.out
    assert "   b  all arrived\n" in called.out
    files = sorted(path.relative_to(tmp_path / "learn").as_posix() for path in (tmp_path / "learn").rglob("*.*"))
    assert files == ["01_small/scenario.schema.json", "01_small/scenario.yaml"]
    text = (tmp_path / "learn" / "01_small" / "scenario.yaml").read_text()
    assert text.startswith(
        "# yaml-language-server: $schema=scenario.schema.json\n# Lesson 01_small: A small lesson\nfl"
    )
    document = flowsim("learn", "1", *small, "--json").document
    assert document["questions"][3] == {
        "name": "when",
        "ask": "When does the last record leave the source, in ms?",
        "options": {},
        "form": "a number of ms, within 0.5",
    }


def test_right_answers_give_code_0_and_links_into_the_report(flowsim: Any, small: list[str], tmp_path: Path) -> None:
    called = flowsim("learn", "1", *small, "--answers", "right.json", "--json")
    assert (called.code, called.document["right"]) == (0, 7)
    (moment,) = called.document["moments"]
    report = (tmp_path / "learn" / "01_small" / "report.html").resolve()
    assert moment["look"] == "the first record at the sink"
    assert re.fullmatch(re.escape(report.as_uri()) + r"#view=steps&task=1&channel=0&fact=1\.\d+", moment["link"])
    assert report.is_file()
    assert (tmp_path / "learn" / "01_small" / "out" / "recording" / "manifest.json").is_file()


def test_wrong_answer_gives_code_1_and_the_answer_of_the_run(flowsim: Any, small: list[str]) -> None:
    called = flowsim("learn", "1", *small, "--answers", "wrong.json")
    assert called.code == 1
    assert "wrong    many: 4\n         the run: 3\n" in called.out
    assert "right    choice: b (all arrived)" in called.out
    assert "check    flowsim learn 01_small --lessons lessons --check" in called.out
    assert "report learn/01_small/out --against learn/01_small/mine\n" in flowsim("learn", "1", *small, "--check").out
    (listed,) = flowsim("learn", *small, "--json").document
    assert (listed["right"], listed["questions"], listed["passed"]) == (6, 7, False)
    assert "6 of 7 predictions right" in flowsim("learn", *small).out


def test_open_writes_the_lesson_as_one_page_that_loads_nothing(
    flowsim: Any, small: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    called = flowsim("learn", "1", *small, "--open")
    page = tmp_path / "learn" / "01_small" / "lesson.html"
    assert (called.code, opened) == (0, [page.resolve().as_uri()])
    assert called.out.startswith(
        "page     learn/01_small/lesson.html: it asks, grades, and shows the report of the run\n"
    )
    text = page.read_text()
    assert re.search(r"default-src 'none'; script-src 'sha256-[^']+' 'sha256-[^']+'; style-src 'unsafe-inline'", text)
    assert "How many?" in text
    assert "all arrived" in text
    report = (tmp_path / "learn" / "01_small" / "report.html").stat().st_size
    assert page.stat().st_size < 1.1 * report + 30_000
    document = flowsim("learn", "1", *small, "--open", "--json").document
    assert document["page"] == "learn/01_small/lesson.html"
    wrong = flowsim("learn", "1", *small, "--open", "--answers", "wrong.json")
    assert (wrong.code, len(opened)) == (1, 3)
    assert "wrong    many: 4" in wrong.out


def test_terminal_asks_every_question_again_until_its_form_is_right(
    flowsim: Any, small: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learn, "_is_terminal", lambda: True)
    answers = iter(["a,1; b,2; a,3", "a; a, b", "three", "3", "20", "out", "b", "b, a"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(answers))
    called = flowsim("learn", "1", *small)
    assert (called.code, list(answers)) == (0, [])
    assert "expected a whole number, got 'three'" in called.out


def test_end_of_the_input_is_misuse(flowsim: Any, small: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learn, "_is_terminal", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    called = flowsim("learn", "1", *small)
    assert (called.code, called.err) == (2, "error: the input ended before the answer to question order\n")


def test_check_grades_the_copy_and_keeps_it(flowsim: Any, small: list[str], tmp_path: Path) -> None:
    flowsim("learn", "1", *small)
    copy = tmp_path / "learn" / "01_small" / "scenario.yaml"
    called = flowsim("learn", "1", *small, "--check")
    assert (called.code, called.out.splitlines()[-1]) == (1, "01_small: exercise not passed")
    assert "not met  rows of sink out: 3, wanted 2" in called.out
    assert "compare" not in called.out, "the lesson's own scenario has not run"
    copy.write_text(copy.read_text().replace(*SOLVED))
    assert flowsim("learn", "1", *small).code == 0, "the start of a lesson keeps the copy"
    called = flowsim("learn", "1", *small, "--check", "--json")
    assert (called.code, called.document["passed"]) == (0, True)
    assert flowsim("learn", *small, "--json").document[0]["checks"] == 2
    assert "exercise passed" in flowsim("learn", *small).out
    assert flowsim("learn", "1", *small, "--force").code == 0
    assert "[a, 3]" in copy.read_text()
    assert flowsim("learn", "1", *small, "--check").code == 1
    assert flowsim("learn", *small, "--json").document[0]["passed"], "an exercise that was passed once stays passed"


def test_each_check_that_fails_shows_one_more_hint_and_then_the_keys(flowsim: Any, tmp_path: Path) -> None:
    flowsim("learn", "16")
    first, second, third = (flowsim("learn", "16", "--check").out for _ in range(3))
    assert "not met  the alignment of merged: 189.3 ms, wanted at most 60 ms\n" in first
    hints = lesson_named("16").model.exercise.hints
    assert f"hint 1   {hints[0]}\n         the next check that fails shows another hint\n" in first
    assert "hint 2" not in first
    assert "key " not in first
    assert (
        f"hint 1   {hints[0]}\nhint 2   {hints[1]}\nkey      settings.exclusive_buffers_per_channel belongs" in second
    )
    assert (
        "key      settings.buffer_debloat belongs into the block in line 5 of learn/16_checkpoint_alignment/scenario.yaml; "
        "see docs/scenario.md#settings\n"
    ) in second
    assert third == second
    document = flowsim("learn", "16", "--check", "--json").document
    assert (document["hints"], document["keys"][0]["line"]) == (hints, 5)
    copy = tmp_path / "learn" / "16_checkpoint_alignment" / "scenario.yaml"
    copy.write_text(copy.read_text().replace("settings:\n", "settings:\n  floating_buffers_per_gate: 1\n"))
    passed = flowsim("learn", "16", "--check")
    assert passed.code == 0
    assert "hint" not in passed.out
    assert flowsim("learn", "--json").document[15]["failed"] == 4


def test_check_prints_times_from_the_start_of_the_job(flowsim: Any) -> None:
    flowsim("learn", "02")
    shown = flowsim("learn", "02", "--check").out
    assert "not met  usual_sink receives its first record: 100 ms after the start, wanted at most 30 ms\n" in shown
    assert "met      buffers of data that usual_sink receives: 2, wanted at most 8\n" in shown


def test_progress_of_an_earlier_release_is_read(flowsim: Any, small: list[str], tmp_path: Path) -> None:
    (tmp_path / "learn" / "01_small").mkdir(parents=True)
    stored = {"right": 6, "questions": 7, "checks": 2, "passed": True}
    (tmp_path / "learn" / "01_small" / "progress.json").write_text(json.dumps(stored))
    (listed,) = flowsim("learn", *small, "--json").document
    assert (listed["right"], listed["passed"], listed["failed"]) == (6, True, 0)


def test_verify_prints_answers_and_refuses_an_exercise_that_asks_for_nothing(
    flowsim: Any, small: list[str], tmp_path: Path
) -> None:
    called = flowsim("learn", "1", *small, "--verify")
    assert called.code == 0
    assert "answer   many: 3\n" in called.out
    lesson = tmp_path / "lessons" / "01_small.md"
    lesson.write_text(SMALL.replace("rows: {out: 2}", "rows: {out: 3}"))
    called = flowsim("learn", "1", *small, "--verify", "--json")
    assert called.code == 1
    assert (called.document["solution_passes"], called.document["unchanged_fails"]) == (False, False)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["07_nothing"], "there is no lesson '07_nothing' (known: 01_small); flowsim learn lists them"),
        (["--check"], "--check, --answers, --verify, --force and --open need the NAME of a lesson"),
        (["1", "--class", "lessons"], "--class tabulates all lessons: leave NAME and the other options out"),
        (["1", "--check", "--verify"], "use one of --check, --answers and --verify"),
        (["1", "--check", "--force"], "--force and --open belong to the start of a lesson"),
        (
            ["1", "--check"],
            "learn/01_small/scenario.yaml: there is no such file; 'flowsim learn 01_small --lessons lessons' writes it",
        ),
        (["1", "--answers", "none.json"], "none.json: there is no such file"),
        (["1", "--answers", "lessons"], "lessons: cannot be read: Is a directory"),
        (["1", "--answers", "/dev/zero"], "/dev/zero:1:1 expected a scenario of at most 262144 bytes"),
        (["1", "--answers", "few.yaml"], "few.yaml:1:1 no answer to names, many, when, which, choice, steps"),
        (["1", "--answers", "other.yaml"], "other.yaml:2:1 there is no question 'meny' (did you mean 'many'?)"),
        (["1", "--answers", "form.json"], "form.json:1:71 many: expected a whole number, got '[\"x\"]'"),
        (["1", "--answers", "list.yaml"], "list.yaml:1:1 expected a mapping with the keys order, names, many, when"),
    ],
)
def test_misuse_gives_code_2_and_writes_nothing(
    flowsim: Any, small: list[str], tmp_path: Path, arguments: list[str], error: str
) -> None:
    (tmp_path / "few.yaml").write_text("order: a,1\n")
    (tmp_path / "other.yaml").write_text("order: a,1\nmeny: 3\n")
    (tmp_path / "form.json").write_text(json.dumps(RIGHT | {"many": ["x"]}))
    (tmp_path / "list.yaml").write_text("- 1\n")
    called = flowsim("learn", *arguments, *small)
    assert called.code == 2
    assert called.err.startswith(f"error: {error}"), called.err
    assert not (tmp_path / "learn").exists()


def test_damaged_progress_is_reported(flowsim: Any, small: list[str], tmp_path: Path) -> None:
    flowsim("learn", "1", *small)
    (tmp_path / "learn" / "01_small" / "progress.json").write_text("[]")
    called = flowsim("learn", *small)
    assert called.code == 2
    assert called.err == (
        "error: learn/01_small/progress.json:1:1 the document: expected the progress of a lesson, a mapping with the keys "
        "right, questions, wrong, checks, passed, failed\nremove the file to start the lesson again\n"
    )


def test_class_has_a_row_for_each_learner_and_counts_wrong_predictions(
    flowsim: Any, small: list[str], tmp_path: Path
) -> None:
    for learner, answers in (("ada", "right.json"), ("bob", "wrong.json")):
        flowsim("learn", "1", *small, "--dir", f"class/{learner}", "--answers", answers)
    copy = tmp_path / "class" / "ada" / "01_small" / "scenario.yaml"
    copy.write_text(copy.read_text().replace(*SOLVED))
    for learner in ("ada", "bob"):
        flowsim("learn", "1", *small, "--dir", f"class/{learner}", "--check")
    called = flowsim("learn", "--class", "class")
    assert called.code == 0
    assert re.findall(r"│ (\w+) +│ (.+?) +│", called.out) == [("ada", "7/7 passed"), ("bob", "6/7 1 check")]
    assert "01_small: 2 learners, 2 predicted, 1 passed the exercise\n  wrong  many: 1 of 2\n" in called.out
    document = flowsim("learn", "--class", "class", "--json").document
    assert document["learners"][1] == {
        "learner": "bob", "lesson": "01_small", "right": 6, "questions": 7, "wrong": ["many"], "checks": 1,
        "passed": False, "failed": 1,
    }  # fmt: skip
    assert document["lessons"] == [
        {
            "lesson": "01_small",
            "learners": 2,
            "predicted": 2,
            "right": 13,
            "questions": 14,
            "passed": 1,
            "wrong": {"many": 1},
        }
    ]


def test_damaged_progress_in_a_class_is_reported_with_its_file_and_place(flowsim: Any, tmp_path: Path) -> None:
    damaged = {
        "ada": "", "bob": '{"right": 1,', "carl": '{\n  "right": "1", "wright": 2\n}', "dan": '{"checks": -1}',
        "eve": '{"right": 3}',
    }  # fmt: skip
    for learner, text in damaged.items():
        folder = tmp_path / "class" / learner / "06_lateness"
        folder.mkdir(parents=True)
        (folder / "progress.json").write_text(text)
    called = flowsim("learn", "--class", "class")
    assert (called.code, called.out) == (2, "")
    first, *others = called.err.splitlines()
    keys = "right, questions, wrong, checks, passed, failed"
    expected = f"the document: expected the progress of a lesson, a mapping with the keys {keys}"
    assert first == f"error: class/ada/06_lateness/progress.json:1:1 {expected}"
    assert others == [
        "class/bob/06_lateness/progress.json:1:13 invalid YAML: expected the node content, but found '<stream end>'",
        "class/carl/06_lateness/progress.json:2:12 right: expected an integer, got '1'",
        "class/carl/06_lateness/progress.json:2:17 wright: unknown key 'wright' (did you mean 'right'?)",
        "class/dan/06_lateness/progress.json:1:12 checks: expected a value >= 0, got -1",
        "class/eve/06_lateness/progress.json:1:1 the document: 3 right predictions of 0 questions",
        "repair or remove these files, and repeat the command",
    ]


def test_class_without_a_folder_or_progress_is_misuse(flowsim: Any, tmp_path: Path) -> None:
    called = flowsim("learn", "--class", "none")
    assert (called.code, called.err) == (2, "error: none: there is no such folder\n")
    (tmp_path / "empty").mkdir()
    called = flowsim("learn", "--class", "empty")
    expected = "error: empty: there is no progress: expected files such as empty/ada/06_lateness/progress.json\n"
    assert (called.code, called.err) == (2, expected)


LINK = re.compile(r"\.\./|\]\(")


def predicted(flowsim: Any, tmp_path: Path, name: str) -> str:
    """What ``flowsim learn`` prints after right answers."""
    answers = flowsim("learn", name, "--verify", "--json").document["answers"]
    lesson = lesson_named(name)
    given = {each: answers[each].partition(" (")[0] for each in lesson.model.questions}
    (tmp_path / "right.json").write_text(json.dumps(given))
    return str(flowsim("learn", name, "--answers", "right.json").out)


@pytest.mark.parametrize("name", names())
def test_text_of_a_lesson_has_no_links_and_names_the_runs_of_others(flowsim: Any, tmp_path: Path, name: str) -> None:
    shown = predicted(flowsim, tmp_path, name)
    assert LINK.search(shown) is None
    lesson = lesson_named(name)
    for _, text in lesson.reading():
        for other in re.findall(r"^\$ flowsim run scenarios/(\w+)\.yaml", text, re.M):
            noted = re.search(rf"^note     the run below is that of .*\b{other}\b", shown, re.M) is not None
            assert noted is (other != lesson.model.scenario)


def test_explanation_of_a_lesson_has_the_figures_of_its_own_run(flowsim: Any, tmp_path: Path) -> None:
    shown = predicted(flowsim, tmp_path, "16")
    recording = Recording.open(next((tmp_path / "learn").rglob("manifest.json")).parent)
    rows = recording.to_pandas("checkpoint_metrics")
    (merged,) = rows[(rows.task == 2) & (rows.checkpoint == 1)].itertuples()
    delay, alignment = merged.start_delay_ns / 1e6, merged.alignment_ns / 1e6
    assert f"arrives {delay:.0f} ms after the trigger, that of `busy` {alignment:.0f} ms later" in shown
    sent = int(re.findall(r"^right    repeated: (\d+)$", shown, re.M)[0])
    assert (
        f"It has 40 records. Its position in the checkpoint is the one at its barrier, and the {sent - 40} that"
        in shown
    )
