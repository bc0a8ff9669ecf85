"""The examples of README and docs run: commands with their output, Python snippets and whole scenarios.

In a ``console`` block a line that begins with ``$ `` is a command; the lines below it are output, in which blanks and the
frames of tables do not count and ``...`` stands for anything. Each ``python`` block is run alone: a line ``# -> text``
is output, and a block with tests is run by pytest.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flowsim.cluster.mini_cluster import execute
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_text
from flowsim.sim.virtual_time_loop import START_NS
from tests.support.command_server import flowsim_commands

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
FRAME = re.compile(r"[\s┃│┏┓┗┛┡┩├┤└┘━─╇┳┻┴┬╋┼╭╮╰╯]+")


@dataclass(frozen=True, slots=True)
class Snippet:
    """One fenced block of a page."""

    page: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def snippets(language: str) -> list[Snippet]:
    found = []
    for page in PAGES:
        text = page.read_text()
        for match in BLOCK.finditer(text):
            if match[1] == language:
                line = text.count("\n", 0, match.start()) + 1
                found.append(Snippet(str(page.relative_to(ROOT)), line, match[2]))
    return found


def commands(text: str) -> list[tuple[str, list[str]]]:
    """Commands of a console block with the output that is shown for each."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.strip():
            assert found, f"output before any command: {line}"
            found[-1][1].append(line)
    return found


def plain(line: str) -> str:
    return FRAME.sub(" ", line).strip()


def shows(expected: list[str], output: str) -> str | None:
    """The first expected line that the output does not have where it should, or None."""
    lines = [plain(line) for line in output.splitlines()]
    lines = [line for line in lines if line]
    at, free = 0, False
    for wanted in map(plain, expected):
        if wanted == "...":
            free = True
            continue
        pattern = re.compile(".*".join(re.escape(part) for part in wanted.split("...")))
        here = next((i for i in range(at, len(lines)) if pattern.fullmatch(lines[i])), None)
        if here is None or (not free and here != at):
            return wanted
        at, free = here + 1, False
    return None if free or not expected or at == len(lines) else f"the end, before: {lines[at]}"


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """A directory that looks like the repository to its readers, and whose ``out`` is its own."""
    for name in ("scenarios", "docs", "flowsim", "tests", "Makefile", "README.md"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


@pytest.fixture(scope="module")
def commands_at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where ``flowsim`` and ``python`` are: they run as from a shell, in processes that need not import everything again."""
    with flowsim_commands(tmp_path_factory.mktemp("bin")) as folder:
        yield folder


def environment(*first: Path) -> dict[str, str]:
    path = os.pathsep.join([*map(str, first), str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "200", "NO_COLOR": "1", "BROWSER": "echo"}


def run_console(block: Snippet, workplace: Path, commands_at: Path) -> None:
    for command, expected in commands(block.text):
        if command.startswith("make "):
            continue
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=workplace,
            env=environment(commands_at),
            capture_output=True,
            text=True,
            timeout=280,
        )
        assert done.returncode == 0, f"{block}: {command}\n{done.stdout}\n{done.stderr}"
        missing = shows(expected, done.stdout)
        assert missing is None, f"{block}: {command}\nnot shown: {missing}\n{done.stdout}"


def needs_spark(block: Snippet) -> bool:
    """A recomputation and a law in SQL run on Spark; laws only where that is asked for, as examples are small."""
    judging = [command for command, _ in commands(block.text) if re.search(r"flowsim validate|--validate", command)]
    return any(re.search(r"--engine spark|--master|--remote|--allow-(python|sql)", command) for command in judging)


def pages_of(blocks: list[Snippet]) -> dict[str, list[Snippet]]:
    """Blocks of one page build on each other."""
    pages: dict[str, list[Snippet]] = {}
    for block in blocks:
        pages.setdefault(block.page, []).append(block)
    return pages


CONSOLE = pages_of(snippets("console"))
SPARK_PAGES = [page for page, blocks in CONSOLE.items() if any(map(needs_spark, blocks))]
PLAIN_PAGES = [page for page in CONSOLE if page not in SPARK_PAGES]


def test_readme_has_commands_python_and_scenario() -> None:
    """Else the tests below would pass for want of anything to run."""
    for language in ("console", "python", "yaml"):
        assert "README.md" in {snippet.page for snippet in snippets(language)}
    assert {block.page for block in ON_SPARK} == {"docs/checkpoint_directory.md", "docs/reading_recordings.md"}
    assert "README.md" in PLAIN_PAGES
    assert SPARK_PAGES == ["docs/tutorial/01_flights.md"]


@pytest.mark.slow
@pytest.mark.parametrize("page", PLAIN_PAGES)
def test_commands_of_page_print_what_it_shows(page: str, workplace: Path, commands_at: Path) -> None:
    for block in CONSOLE[page]:
        run_console(block, workplace, commands_at)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", SPARK_PAGES)
def test_commands_of_page_on_spark_print_what_it_shows(page: str, workplace: Path, commands_at: Path) -> None:
    for block in CONSOLE[page]:
        run_console(block, workplace, commands_at)


PYTHON = snippets("python")
TESTS = [block for block in PYTHON if re.search(r"^def test_", block.text, re.M)]
ON_SPARK = [block for block in PYTHON if "pyspark" in block.text]
PROGRAMS = [block for block in PYTHON if block not in (*TESTS, *ON_SPARK)]


def run_python(block: Snippet, workplace: Path, commands_at: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A block that was pasted into a file of its own, run in a process of its own."""
    (workplace / "test_snippet.py").write_text(block.text)
    command = [str(commands_at / "python"), *arguments, "test_snippet.py"]
    return subprocess.run(command, cwd=workplace, env=environment(), capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("block", PROGRAMS, ids=str)
def test_python_block_prints_what_it_shows(block: Snippet, workplace: Path, commands_at: Path) -> None:
    done = run_python(block, workplace, commands_at)
    assert done.returncode == 0, f"{block}\n{done.stderr}"
    expected = re.findall(r"^# -> (.*)$", block.text, re.M)
    assert expected, f"{block} shows no output"
    assert done.stdout.splitlines() == expected, block


@pytest.mark.slow
@pytest.mark.parametrize("block", ON_SPARK, ids=str)
def test_python_on_spark_prints_what_it_shows(
    block: Snippet,
    spark: SparkSession,
    workplace: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Runs in this process, because ``getOrCreate`` then returns the session of the test run."""
    monkeypatch.chdir(workplace)
    exec(compile(block.text, str(block), "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.splitlines() == re.findall(r"^# -> (.*)$", block.text, re.M)


FEW_EXAMPLES = """\
from hypothesis import settings
settings.register_profile("few", settings.get_profile("ci"), max_examples=30)
"""


@pytest.mark.slow
@pytest.mark.parametrize("block", TESTS, ids=str)
def test_block_passes_or_fails_as_page_shows(block: Snippet, workplace: Path, commands_at: Path) -> None:
    """It fails where the next ``text`` block of the page shows its error."""
    (workplace / "conftest.py").write_text(FEW_EXAMPLES)
    options = "-q", "-p", "no:cacheprovider", "--hypothesis-profile=few"
    done = run_python(block, workplace, commands_at, "-m", "pytest", *options)
    shown = error_shown_behind(block)
    assert done.returncode == (0 if shown is None else 1), f"{block}\n{done.stdout}\n{done.stderr}"
    if shown is not None:
        raised = [line.removeprefix("E").strip() for line in done.stdout.splitlines() if re.match(r"E\s", line)]
        assert shows([*shown, "..."], "\n".join(raised)) is None, f"{block}\n{done.stdout}"


def error_shown_behind(block: Snippet) -> list[str] | None:
    """The lines of the error below a test, before the next Python of its page."""
    text = (ROOT / block.page).read_text().partition(block.text)[2]
    below = BLOCK.search(text, text.index("```\n") + 4)
    if below is None or below[1] != "text" or not below[2].startswith("AssertionError: "):
        return None
    return below[2].splitlines()


REFERENCES_WITH_TIMES = ("docs/scenario.md", "docs/datastream.md", "docs/cli.md", "docs/testing.md")
TUTORIALS = tuple(str(page.relative_to(ROOT)) for page in sorted((ROOT / "docs" / "tutorial").glob("*.md")))


@pytest.mark.parametrize("page", [*REFERENCES_WITH_TIMES, *TUTORIALS])
def test_page_with_times_states_start_of_virtual_clock(page: str) -> None:
    said = re.search(r"virtual\s+clock\s+starts\s+at\s+(\d+)\s+s\b", (ROOT / page).read_text())
    assert said is not None
    assert int(said[1]) * 1_000_000_000 == START_NS


@pytest.mark.parametrize("snippet", snippets("yaml"), ids=str)
def test_scenario_block_meets_its_expectations(snippet: Snippet, tmp_path: Path) -> None:
    if not snippet.text.startswith("flowsim: "):
        return
    compiled = compile_scenario(load_text(snippet.text, str(snippet), ROOT / "scenarios"), out_dir=tmp_path)
    result = execute(compiled.stream_graph(), compiled.run_options())
    rows = {sink.name: len(sink.collected.values()) for sink in compiled.sinks if sink.collected is not None}
    assert (result.status.value, rows | compiled.expect.rows) == (compiled.expect.job, rows)
