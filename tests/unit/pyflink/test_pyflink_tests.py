"""The program that runs PyFlink's own tests: here tests in their form."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pyflink_tests import FILES, main, results_of

WINDOWS = """\
from pyflink.common import Types
from pyflink.common.watermark_strategy import WatermarkStrategy
from pyflink.datastream.tests.test_util import DataStreamTestSinkFunction, SecondColumnTimestampAssigner
from pyflink.datastream.window import TumblingEventTimeWindows
from pyflink.common.time import Time
from pyflink.testing.test_case_utils import PyFlinkStreamingTestCase


class Windows(PyFlinkStreamingTestCase):
    def test_sums(self):
        sink = DataStreamTestSinkFunction()
        pairs = self.env.from_collection([("a", 1), ("a", 4), ("a", 6)], Types.TUPLE([Types.STRING(), Types.INT()]))
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SecondColumnTimestampAssigner())
        pairs.assign_timestamps_and_watermarks(strategy).key_by(lambda pair: pair[0]) \\
            .window(TumblingEventTimeWindows.of(Time.milliseconds(5))).reduce(lambda a, b: (a[0], a[1] + b[1])) \\
            .add_sink(sink)
        self.env.execute()
        self.assertEqual(sorted(sink.get_results(True)), ["('a', 5)", "('a', 6)"])
"""

STREAMS = """\
import os
import unittest

from pyflink.common import Configuration, Row, Types
from pyflink.datastream.data_stream import DataStream
from pyflink.datastream.tests.test_util import DataStreamTestSinkFunction
from pyflink.java_gateway import get_gateway
from pyflink.testing.test_case_utils import PyFlinkBatchTestCase, PyFlinkStreamingTestCase, PyFlinkTestCase
from pyflink.util.java_utils import get_j_env_configuration


class Both(object):
    def setUp(self):
        super(Both, self).setUp()
        get_j_env_configuration(self.env._j_stream_execution_environment).setString("akka.ask.timeout", "20 s")
        self.sink = DataStreamTestSinkFunction()

    def test_reduce(self):
        rows = self.env.from_collection([("a", 0), ("b", 0)], Types.ROW([Types.STRING(), Types.INT()]))
        rows.key_by(lambda row: row[1]).reduce(lambda a, b: Row(a[0] + b[0], a[1])).add_sink(self.sink)
        self.env.execute()
        self.assertEqual(sorted(self.sink.get_results()), self.reduced)

    def test_settings(self):
        config = Configuration(j_configuration=get_j_env_configuration(self.env._j_stream_execution_environment))
        config.set_integer("parallelism.default", 3)
        self.assertEqual(self.env.get_parallelism(), 3)

    def test_only_in_batch(self):
        self.assertEqual(self.reduced, ["+I[ab, 0]"])


class Streaming(Both, PyFlinkStreamingTestCase):
    reduced = ["+I[a, 0]", "+I[ab, 0]"]

    def test_graph_of_java(self):
        self.env._j_stream_execution_environment.getStreamGraph(True)


class Batch(Both, PyFlinkBatchTestCase):
    reduced = ["+I[ab, 0]"]

    def test_class_of_java(self):
        DataStream(get_gateway().jvm.org.apache.flink.Some())


class Files(PyFlinkTestCase):
    def test_folder(self):
        with open(os.path.join(self.tempdir, "file"), "w") as file:
            file.write("x")

    def test_failing_job(self):
        from py4j.protocol import Py4JJavaError
        from pyflink.datastream import StreamExecutionEnvironment
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_collection([1]).map(lambda n: n / 0).print()
        with self.assertRaisesRegex(Py4JJavaError, "division by zero"):
            env.execute()
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "pyflink" / "datastream" / "tests"
    folder.mkdir(parents=True)
    for name, text in zip(FILES, (WINDOWS, STREAMS), strict=True):
        folder.joinpath(name).write_text(text)
    return tmp_path


def test_definition_passes_if_it_does_in_every_class(tree: Path) -> None:
    results = results_of(tree / "pyflink" / "datastream" / "tests" / "test_data_stream.py")
    assert [name for name, text in results.items() if text == "passed"] == [
        "test_reduce", "test_settings", "test_failing_job", "test_folder",
    ]  # fmt: skip
    assert {name for name, text in results.items() if text == "needs a JVM"} == {
        "test_class_of_java",
        "test_graph_of_java",
    }
    assert results["test_only_in_batch"].startswith("AssertionError: Lists differ: ['+I[a, 0]', '+I[ab, 0]'] != ")


def test_program_counts_definitions(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(tree) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "test_window.py: 1 of 1 definitions pass, 0 need a JVM"
    assert lines[1] == "test_data_stream.py: 4 of 7 definitions pass, 2 need a JVM"
    assert {line.partition(":")[0].strip() for line in lines[2:]} == {
        "test_only_in_batch", "test_class_of_java", "test_graph_of_java",
    }  # fmt: skip


def test_missing_tree_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(tmp_path) == 2
    assert "has no test_window.py and no test_data_stream.py: give the folder flink-python" in capsys.readouterr().out
