"""Programs for PyFlink run as they are, with the options of the user."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from flowsim.api import validate_recording
from flowsim.errors import BadInput, JobFailed
from flowsim.facts.kinds import Level
from flowsim.pyflink import ProgramExecutor, ProgramFailed, run_program
from flowsim.recording.reader import Recording

TWO_JOBS = """
import sys
from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment
from beside import FACTOR

if __name__ == "__main__":
    env = StreamExecutionEnvironment.get_execution_environment()
    for number in map(int, sys.argv[1:]):
        env.from_collection([number], Types.INT()).map(lambda value: value * FACTOR, Types.INT()).print()
        env.execute(f"job of {number}")
"""


def program(folder: Path, text: str) -> Path:
    path = folder / "program.py"
    path.write_text(text)
    return path


def test_program_runs_with_its_arguments_and_its_modules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "beside.py").write_text("FACTOR = 10")
    before = list(sys.argv), list(sys.path)
    executor = ProgramExecutor()
    run_program(program(tmp_path, TWO_JOBS), ["3", "4"], executor)
    assert capsys.readouterr().out == "30\n40\n"
    assert [(run.job_name, run.recording) for run in executor.runs] == [("job of 3", None), ("job of 4", None)]
    assert (sys.argv, sys.path) == before
    assert "pyflink.datastream" not in sys.modules


def test_each_job_has_a_recording_with_the_options_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("FACTOR = 1")
    executor = ProgramExecutor(seed=7, policy="random", level=Level.ELEMENTS, out=tmp_path / "out")
    run_program(program(tmp_path, TWO_JOBS), ["3", "4"], executor)
    paths = [tmp_path / "out" / "1", tmp_path / "out" / "2"]
    assert [run.recording for run in executor.runs] == paths
    for path, run in zip(paths, executor.runs, strict=True):
        manifest = Recording.open(path).manifest
        assert (manifest.run.seed, manifest.run.policy, manifest.digest) == (7, "random", run.digest)


def test_until_ends_a_job_on_its_clock(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """
from pyflink.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection(range(100)).map(lambda value: value).cost(1_000_000_000).disable_chaining().print()
env.execute()
"""
    executor = ProgramExecutor(until_ns=3_500_000_000)
    run_program(program(tmp_path, text), [], executor)
    assert capsys.readouterr().out == "0\n1\n"
    assert executor.runs[0].result.elapsed_ns == 3_500_000_000


def test_what_flowsim_does_not_do_is_refused_with_the_line_of_the_program(tmp_path: Path) -> None:
    path = program(tmp_path, "from pyflink.table import TableEnvironment\n\nTableEnvironment.create()\n")
    with pytest.raises(BadInput, match=rf"^{path}:3: TableEnvironment.create: flowsim does not simulate this"):
        run_program(path, [], ProgramExecutor())


def test_error_of_the_program_has_its_own_traceback_only(tmp_path: Path) -> None:
    path = program(tmp_path, "def fail():\n    raise ValueError('own error')\n\nfail()\n")
    with pytest.raises(ProgramFailed) as failed:
        run_program(path, [], ProgramExecutor())
    text = str(failed.value)
    assert text.endswith("ValueError: own error")
    assert "runpy" not in text
    assert f'File "{path}", line 4' in text


def test_exit_code_of_the_program_counts(tmp_path: Path) -> None:
    run_program(program(tmp_path, "import sys; sys.exit(0)"), [], ProgramExecutor())
    with pytest.raises(ProgramFailed, match="ended with exit code 4"):
        run_program(program(tmp_path, "import sys; sys.exit(4)"), [], ProgramExecutor())


def test_failed_job_is_kept_and_raised(tmp_path: Path) -> None:
    text = """
from pyflink.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([0]).map(lambda value: 1 // value).print()
env.execute()
"""
    executor = ProgramExecutor(level=Level.FULL, out=tmp_path / "out")
    with pytest.raises(JobFailed, match="ZeroDivisionError"):
        run_program(program(tmp_path, text), [], executor)
    assert [run.result.status.value for run in executor.runs] == ["failed"]
    assert Recording.open(tmp_path / "out" / "1").manifest.digest == executor.runs[0].digest


def test_missing_program_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        run_program(tmp_path / "none.py", [], ProgramExecutor())


LISTS = """
from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor

class Count(KeyedProcessFunction):
    def open(self, context):
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))
    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(7)
        yield f"{ctx.get_current_key()!r} {self.count.value()}"
    def on_timer(self, timestamp, ctx):
        yield f"{ctx.get_current_key()!r} ends"

env = StreamExecutionEnvironment.get_execution_environment()
env.enable_checkpointing(10)
rows = env.from_collection([([1, 2], "x"), ([3], "y"), ([1, 2], "z"), ([], "w")])
rows.key_by(lambda row: row[0]).process(Count()).print("list")
rows.key_by(lambda row: (row[1] < "y", row[0])).reduce(lambda a, b: a).print("tuple")
rows.key_by(lambda row: row[0], Types.LIST(Types.INT())).process(Count()).print("declared")
env.execute()
rows.key_by(lambda row: row[0], Types.PRIMITIVE_ARRAY(Types.INT()))
"""


def test_lists_are_keys_but_arrays_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What PyFlink 2.3.0 prints for the keys without timers; the subtasks are those of tests/support/conform/programs."""
    executor = ProgramExecutor(level=Level.FULL, out=tmp_path / "out")
    with pytest.raises(
        BadInput, match=r":23: key_by: the type PRIMITIVE_ARRAY<INT> cannot be used as key: use Types.LIST"
    ):
        run_program(program(tmp_path, LISTS), [], executor)
    lines = capsys.readouterr().out.splitlines()
    counts = ["[1, 2] 1", "[3] 1", "[1, 2] 2", "[] 1", "[1, 2] ends", "[] ends", "[3] ends"]
    for name in ("list", "declared"):
        assert [line.removeprefix(f"{name}> ") for line in lines if line.startswith(name)] == counts
    assert len([line for line in lines if line.startswith("tuple")]) == 4
    (run,) = executor.runs
    assert run.recording is not None
    assert validate_recording(run.recording).passed


def test_none_is_a_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """
from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(3)
words = env.from_collection(["a", "", "b", ""])
words.key_by(lambda word: word or None, Types.STRING()).reduce(lambda one, other: one + other + ".").print()
env.execute()
"""
    run_program(program(tmp_path, text), [], ProgramExecutor())
    lines = capsys.readouterr().out.splitlines()
    assert sorted(line[3:] for line in lines) == ["", ".", "a", "b"]
    # The subtask that it has in PyFlink.
    assert {line[:2] for line in lines if line[3:] in ("", ".")} == {"3>"}
