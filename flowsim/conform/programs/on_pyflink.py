"""Runs a program on the real PyFlink: ``python on_pyflink.py ANSWER FILES PROGRAM.py [ARGS]``, in PyFlink's Python.

It changes what a comparison needs, and nothing else: sinks write below the folder FILES, the parallelism is 1 unless the
program says otherwise, and all servers listen on the loopback interface. Standard library and PyFlink only.
"""

from __future__ import annotations

import os
import re
import runpy
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

SETTINGS = {
    "parallelism.default": "1",
    "execution.batch.adaptive.auto-parallelism.enabled": "false",
    "rest.bind-address": "localhost",
    "jobmanager.bind-host": "localhost",
    "taskmanager.bind-host": "localhost",
}
"""Of the local cluster, unless the program sets them. In BATCH mode its scheduler does not choose the parallelism."""


def below(folder: Path, path: str) -> str:
    """Returns the folder of a sink below ``folder``, as ``flowsim.connectors.file_system.folders`` does."""
    match = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):(?://)?", path)
    scheme, rest = (match[1].lower(), path[match.end() :]) if match else ("", path)
    parts = [part for part in Path(rest).parts if part not in ("/", "..", ".")]
    return str(folder.joinpath(*([] if scheme in ("", "file") else [scheme]), *parts))


def listen_on_loopback() -> None:
    """Keeps the servers of Python's workers off other interfaces."""
    grpc: Any = import_module("grpc")
    create = grpc.server

    def server(*args: Any, **kwargs: Any) -> Any:
        created = create(*args, **kwargs)
        add = created.add_insecure_port
        created.add_insecure_port = lambda address: add(address.replace("[::]", "127.0.0.1"))
        return created

    grpc.server = server


def set_up_environments(datastream: Any) -> None:
    """Gives environments the settings that the program does not set."""
    configuration = import_module("pyflink.common").Configuration
    create = datastream.StreamExecutionEnvironment.get_execution_environment

    def get_execution_environment(given: Any = None) -> Any:
        settings = configuration()
        for key, value in SETTINGS.items():
            settings.set_string(key, value)
        if given is not None:
            settings.add_all(given)
        return create(settings)

    datastream.StreamExecutionEnvironment.get_execution_environment = staticmethod(get_execution_environment)


def set_up_files(folder: Path) -> None:
    """Lets sinks write below ``folder``, and sources read there what was written."""
    files = import_module("pyflink.datastream.connectors.file_system")
    write_rows, write_bulks = files.FileSink.for_row_format, files.FileSink.for_bulk_format
    read_lines = files.FileSource.for_record_stream_format

    def read(stream_format: Any, *paths: str) -> Any:
        written = (below(folder, path) for path in paths)
        return read_lines(stream_format, *(new if Path(new).exists() else path for new, path in zip(written, paths)))  # noqa: B905

    files.FileSink.for_row_format = staticmethod(lambda path, *more: write_rows(below(folder, path), *more))
    files.FileSink.for_bulk_format = staticmethod(lambda path, *more: write_bulks(below(folder, path), *more))
    files.FileSource.for_record_stream_format = staticmethod(read)


def main() -> None:
    """Runs the program and writes its outcome."""
    answer, files, program, *arguments = sys.argv[1:]
    outcomes = import_module("outcome")
    # The program finds what ``python PROGRAM.py`` gives it, and may have a module of this name.
    del sys.modules["outcome"]
    sys.path[0] = str(Path(program).resolve().parent)
    sys.argv = [program, *arguments]
    listen_on_loopback()
    datastream = import_module("pyflink.datastream")
    # What its libraries log when they are imported would be among the lines of a program that logs to standard output.
    import_module("pyflink.fn_execution.beam.beam_worker_pool_service")
    set_up_environments(datastream)
    set_up_files(Path(files))
    outcome = outcomes.Outcome()
    outcome.watch(datastream.DataStream)
    try:
        runpy.run_path(program, run_name="__main__")
    except SystemExit as ended:
        outcome.exits(ended.code)
    except BaseException as error:
        outcome.fails(outcomes.cause_of(error))
    gateway = import_module("pyflink.java_gateway")
    if gateway._gateway is not None:
        gateway._gateway.jvm.System.out.flush()
    outcome.write(answer)
    sys.stdout.flush()
    # Java and the workers are ended by the process that started this one; their own ends would take seconds.
    os._exit(0)


if __name__ == "__main__":
    main()
