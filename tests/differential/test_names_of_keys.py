"""The names of Flink that scenarios' keys carry are names of Flink 2.3.0: its jars have each of them."""

from __future__ import annotations

import re
import zipfile

import pytest

from flowsim.conform.java_machine import FlinkMissing, jars
from flowsim.scenario.scenario_model import ScenarioModel
from flowsim.scenario.yaml.flink_names import FlinkNames
from flowsim.scenario.yaml.keys import every_key

NOT_IN_THE_JARS = {
    # PyFlink's own methods of AsyncRetryStrategy.
    "fixed_delay",
    "exponential_backoff",
    # Of a connector with releases of its own.
    "KafkaSource",
    # Options up to Flink 1.20, whose values are fixed since then (rule 5.40).
    "taskmanager.network.memory.buffers-per-channel",
    "taskmanager.network.memory.floating-buffers-per-gate",
    "taskmanager.network.memory.max-buffers-per-channel",
    "taskmanager.network.memory.max-overdraft-buffers-per-gate",
}
JARS = ("flink-dist-2.3.0.jar", "flink-csv-2.3.0.jar", "flink-table-api-java-uber-2.3.0.jar")
PACKAGES = re.compile(
    "org/apache/flink/(streaming/(api|util/retryable)|api/common/(eventtime|state|ExecutionConfig)"
    "|configuration|connector/(base/D|datagen)|formats/csv|table/api/config)"
)


def in_java(name: str) -> str:
    return name if "." in name else re.sub(r"_(\w)", lambda match: match[1].upper(), name)


def test_names_of_keys_are_in_the_jars_of_flink() -> None:
    names = {
        name
        for _, info in every_key(ScenarioModel)
        for each in info.metadata
        if isinstance(each, FlinkNames)
        for name, _ in each.with_values()
    }
    wanted = {in_java(name).encode(): name for name in names}
    # A constant of a class: the tag 1, two bytes of length, the text.
    constants = {b"\x01" + len(text).to_bytes(2, "big") + text: name for text, name in wanted.items()}
    classes = {f"/{text.decode()}.class": name for text, name in wanted.items()}
    try:
        folder = jars()
    except FlinkMissing as missing:
        pytest.skip(str(missing))
    for jar in JARS:
        with zipfile.ZipFile(folder / jar) as opened:
            for entry in filter(PACKAGES.match, opened.namelist()):
                code = opened.read(entry)
                names -= {name for constant, name in constants.items() if constant in code}
                names -= {name for end, name in classes.items() if entry.endswith(end)}
    assert names == NOT_IN_THE_JARS
