"""Runs PyFlink's own tests on flowsim, from a source tree of the user: ``make pyflink-tests PYFLINK=path/to/flink-python``.

The modules of PyFlink come from flowsim. Those of its tests that start a Java virtual machine are replaced by the ones here,
so a test that calls Java itself is skipped and named.
"""

from __future__ import annotations

import sys
import tempfile
import unittest
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Final, NoReturn
from unittest.mock import patch
from warnings import catch_warnings

from flowsim.connectors.memory import CollectSink
from flowsim.datastream import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment, WithoutEffect
from flowsim.datastream.building.java_text import java_text
from flowsim.datastream.common import Configuration, TypeInformation
from flowsim.datastream.common.watermark_strategy import TimestampAssigner
from flowsim.errors import JobFailed
from flowsim.pyflink import pyflink_imports
from flowsim.values.types import TypeKind

FILES: Final = ("test_window.py", "test_data_stream.py")
PARALLELISM: Final = 2
"""Of the environments of PyFlink's test cases."""

Results = Mapping[str, str]
"""What became of each test definition: 'passed', 'needs a JVM', or the text of the failure."""


class JvmNeeded(unittest.SkipTest):
    """A test calls Java."""


def get_gateway() -> NoReturn:
    """Takes the place of the function that starts Java."""
    raise JvmNeeded("needs a JVM")


class JavaEnvironment:
    """The environment of Java, of which tests only ask for the configuration if they do not call Java."""

    def __init__(self, env: StreamExecutionEnvironment) -> None:
        self.env = env

    def __getattr__(self, name: str) -> NoReturn:
        get_gateway()


class JavaConfiguration:
    """The configuration of an environment by the names of Java; options without effect are accepted."""

    def __init__(self, environment: JavaEnvironment) -> None:
        self._env = environment.env

    def setString(self, key: str, value: object) -> None:
        self._env.configure(Configuration().set_string(key, str(value)))

    setInteger = setBoolean = setString


class Configured(Configuration):
    """``Configuration(j_configuration=...)``: what is set goes to the environment at once."""

    def __init__(self, other: Configuration | None = None, j_configuration: JavaConfiguration | None = None) -> None:
        super().__init__(other)
        self._of_env = j_configuration

    def set_integer(self, key: str, value: int) -> Configured:
        super().set_integer(key, value)
        if self._of_env is not None:
            self._of_env.setString(key, value)
        return self


class DataStreamTestSinkFunction(CollectSink):
    """Collects what a test checks, in order of arrival at each subtask."""

    declared: TypeInformation | None = None

    def get_results(self, is_python_object: bool = False, stringify: bool = True) -> list[Any]:
        """Returns the records and forgets them: as Java's text unless they are objects of Python."""
        values = [value for value, _ in self.records()]
        self.clear()
        if is_python_object:
            return list(map(str, values)) if stringify else values
        if self.declared is None or self.declared.kind is TypeKind.PICKLED_BYTE_ARRAY:
            return list(map(str, values))
        return [java_text(value, self.declared) for value in values]

    def clear(self) -> None:
        self._parts = []


class SecondColumnTimestampAssigner(TimestampAssigner):
    """Takes the second field of a record as its timestamp in ms."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class PyFlinkTestCase(unittest.TestCase):
    tempdir: ClassVar[str]
    _folder: ClassVar[tempfile.TemporaryDirectory[str]]

    @classmethod
    def setUpClass(cls) -> None:
        cls._folder = tempfile.TemporaryDirectory()
        cls.tempdir = cls._folder.name

    @classmethod
    def tearDownClass(cls) -> None:
        cls._folder.cleanup()


class PyFlinkStreamingTestCase(PyFlinkTestCase):
    mode: ClassVar[RuntimeExecutionMode] = RuntimeExecutionMode.STREAMING

    def setUp(self) -> None:
        self.env = StreamExecutionEnvironment.get_execution_environment()
        self.env.set_parallelism(PARALLELISM)
        self.env.set_runtime_mode(self.mode)


class PyFlinkBatchTestCase(PyFlinkStreamingTestCase):
    mode = RuntimeExecutionMode.BATCH


def _add_sink(stream: DataStream, sink: Any) -> Any:
    if isinstance(sink, DataStreamTestSinkFunction):
        sink.declared = stream._output_type
    return stream.sink_to(sink)


_MODULES: Final[Mapping[str, Mapping[str, object]]] = {
    "pyflink.java_gateway": {"get_gateway": get_gateway},
    "pyflink.util": {},
    "pyflink.util.java_utils": {"get_j_env_configuration": JavaConfiguration},
    "pyflink.testing": {},
    "pyflink.testing.test_case_utils": {
        "PyFlinkTestCase": PyFlinkTestCase,
        "PyFlinkStreamingTestCase": PyFlinkStreamingTestCase,
        "PyFlinkBatchTestCase": PyFlinkBatchTestCase,
    },
    "pyflink.datastream.tests": {},
    "pyflink.datastream.tests.test_util": {
        "DataStreamTestSinkFunction": DataStreamTestSinkFunction,
        "SecondColumnTimestampAssigner": SecondColumnTimestampAssigner,
    },
    # The error of Java that a failing job raises.
    "py4j.protocol": {"Py4JJavaError": JobFailed},
}


@contextmanager
def tests_of_pyflink() -> Iterator[None]:
    """Lets tests of PyFlink be imported and run meanwhile."""
    with pyflink_imports():
        import pyflink.common  # type: ignore[import-not-found]

        modules = {name: ModuleType(name) for name in _MODULES}
        for name, module in modules.items():
            vars(module).update(_MODULES[name])
        with (
            patch.dict(sys.modules, modules),
            patch.object(pyflink.common, "Configuration", Configured),
            patch.object(DataStream, "add_sink", _add_sink),
            patch.object(
                StreamExecutionEnvironment, "_j_stream_execution_environment", property(JavaEnvironment), create=True
            ),
            catch_warnings(action="ignore", category=WithoutEffect),
        ):
            yield


def results_of(file: Path) -> Results:
    """Runs a file of tests; a definition passes if it does in every class that has it."""
    with tests_of_pyflink():
        spec = spec_from_file_location(f"pyflink_{file.stem}", file)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        suite = unittest.defaultTestLoader.loadTestsFromModule(module)
        found: dict[str, str] = {}
        for test in _tests(suite):
            outcome = unittest.TestResult()
            unittest.TestSuite([test]).run(outcome)
            name = test.id().rpartition(".")[2]
            if found.get(name, "passed") == "passed":
                found[name] = _text(outcome)
    return found


def _tests(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from _tests(test)
        else:
            yield test


def _text(outcome: unittest.TestResult) -> str:
    if outcome.skipped:
        return outcome.skipped[0][1]
    failed = outcome.errors + outcome.failures
    if not failed:
        return "passed"
    lines = failed[0][1].splitlines()
    last_call = max(number for number, line in enumerate(lines) if line.startswith("  File "))
    return next(line for line in lines[last_call:] if not line.startswith(" "))


def main(tree: Path) -> int:
    folder = tree / "pyflink" / "datastream" / "tests"
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        print(f"error: {folder} has no {' and no '.join(missing)}: give the folder flink-python of Flink's sources")
        return 2
    failed = 0
    for name in FILES:
        results = results_of(folder / name)
        passed = sum(text == "passed" for text in results.values())
        java = sum(text == "needs a JVM" for text in results.values())
        print(f"{name}: {passed} of {len(results)} definitions pass, {java} need a JVM")
        for test, text in results.items():
            if text != "passed":
                print(f"  {test}: {text}")
        failed += len(results) - passed - java
    return int(failed > 0)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print(
            "error: expected the folder flink-python of Flink's sources: make pyflink-tests PYFLINK=path/to/flink-python"
        )
        sys.exit(2)
    sys.exit(main(Path(sys.argv[1])))
