"""``import pyflink``: PyFlink's modules with PyFlink's names, whatever ``pyflink`` is installed."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import new_class

import pytest

import flowsim.datastream
from flowsim.datastream.common.types import Row
from flowsim.errors import BadInput
from flowsim.pyflink import pyflink_imports
from flowsim.pyflink.layout import DEFINING_MODULES, MODULES
from flowsim.pyflink.refused_name import RefusedName


def test_modules_have_the_names_of_flowsim() -> None:
    with pyflink_imports():
        datastream, types = import_module("pyflink.datastream"), import_module("pyflink.common.types")
        assert datastream.StreamExecutionEnvironment is flowsim.datastream.StreamExecutionEnvironment
        assert types.Row is import_module("pyflink.common").Row is Row
        assert datastream.__all__ == list(MODULES["datastream"].exported)
        assert import_module("pyflink").__version__ == import_module("pyflink.version").__version__ == "2.3.0"


@pytest.mark.parametrize("module", MODULES)
def test_every_module_can_be_imported_with_all_of_its_names(module: str) -> None:
    with pyflink_imports():
        found = import_module(f"pyflink.{module}")
        assert [name for name in MODULES[module].names if not hasattr(found, name)] == []


def test_name_of_a_package_is_that_of_the_module_that_defines_it() -> None:
    with pyflink_imports():
        for package in ("common", "datastream", "datastream.connectors", "metrics"):
            for name in MODULES[package].names:
                defining = import_module(f"pyflink.{DEFINING_MODULES[name][0]}")
                exported = getattr(import_module(f"pyflink.{package}"), name)
                if isinstance(exported, RefusedName):
                    assert repr(exported) == repr(getattr(defining, name))
                else:
                    assert exported is getattr(defining, name)


def test_module_has_the_names_that_it_imports_itself_and_a_package_only_its_own() -> None:
    with pyflink_imports():
        assert import_module("pyflink.common.watermark_strategy").Duration.of_millis(1).to_millis() == 1
        with pytest.raises(AttributeError, match=r"module 'pyflink.common' of PyFlink 2.3.0 has no 'OutputTag'"):
            _ = import_module("pyflink.common").OutputTag


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            "from pyflink.datastream import TimeCharacteristic",
            ": remove it: event time",
        ),
        ("from pyflink.datastream import ExternalizedCheckpointCleanup", r": use ExternalizedCheckpointRetention$"),
        ("from pyflink.common.serialization import SimpleStringEncoder", r": use Encoder\.simple_string_encoder\(\)$"),
    ],
)
def test_name_of_an_earlier_version_is_refused_with_its_successor(statement: str, message: str) -> None:
    with (
        pyflink_imports(),
        pytest.raises(ImportError, match=rf"^pyflink\..*: Flink 2\.3\.0 does not have this.*{message}"),
    ):
        exec(statement, {})


def test_restart_strategies_are_options() -> None:
    with pyflink_imports(), pytest.raises(BadInput, match=r"set the options `restart-strategy\.type` and those below"):
        import_module("pyflink.common").RestartStrategies.fixed_delay_restart(3, 100)


def test_package_has_a_file_beside_which_programs_look_for_others() -> None:
    with pyflink_imports():
        assert Path(str(import_module("pyflink").__file__)).parent.is_dir()


def test_unknown_module_is_refused_with_the_most_similar_name() -> None:
    with (
        pyflink_imports(),
        pytest.raises(ModuleNotFoundError, match=r"no module 'pyflink.datastream.windows' \(did you mean"),
    ):
        import_module("pyflink.datastream.windows")


def test_installed_namespace_folder_does_not_win(tmp_path: Path) -> None:
    (tmp_path / "pyflink").mkdir()
    (tmp_path / "pyflink" / "version.py").write_text("__version__ = '1.0'")
    script = (
        "import pyflink.version, flowsim.pyflink as f\nwith f.pyflink_imports():\n import pyflink.version as inside\n"
    )
    script += "import pyflink.version as after\nprint(inside.__version__, after.__version__)"
    ran = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": f"{tmp_path}:{Path(flowsim.__file__).parents[1]}", "PATH": ""},
    )
    assert ran.stdout == "2.3.0 1.0\n"


def test_name_that_is_not_simulated_can_be_imported_and_annotated_but_not_used() -> None:
    with pyflink_imports():
        table = import_module("pyflink.table")
        environment = table.StreamTableEnvironment
        assert environment | None is environment[int] is environment
        for use in (
            lambda: environment.create(),
            lambda: environment(),
            lambda: new_class("Own", (environment,)),
        ):
            with pytest.raises(
                BadInput, match=r"StreamTableEnvironment.*: flowsim does not simulate this \(the Table API"
            ):
                use()
        with pytest.raises(
            BadInput, match=r"^PulsarSource.builder: .*\(connectors to services\): read the same records"
        ):
            import_module("pyflink.datastream.connectors").PulsarSource.builder()
        with pytest.raises(BadInput, match=r"^FlinkKafkaConsumer: Flink 2\.3\.0 does not have this: use KafkaSource$"):
            import_module("pyflink.datastream.connectors.kafka").FlinkKafkaConsumer("orders", None, {})
        with pytest.raises(
            BadInput, match=r"^AvroSchema.parse_string: flowsim does not have this class of pyflink.datastream"
        ):
            import_module("pyflink.datastream.formats.avro").AvroSchema.parse_string("{}")
