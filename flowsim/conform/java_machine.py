"""The Java virtual machine of the real Flink: its jars, its compiler, and the connection to it."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from flowsim.distribution import install_command
from flowsim.errors import BadInput
from flowsim.validation.java import find_java

FLINK_JAR: Final = "flink-dist-2.3.0.jar"
SOURCES: Final = Path(__file__).parent / "java"
"""The sources of the interpreter."""
_OPENED: Final = ("java.base/java.lang", "java.base/java.util", "java.base/java.util.concurrent", "java.base/java.time")
_PATIENCE_SECONDS: Final = 10
"""How long Java may take to end."""
JAVA_OPTIONS: Final = ("-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
OPENED_MODULES: Final = tuple(f"--add-opens={module}=ALL-UNNAMED" for module in _OPENED)


class FlinkMissing(BadInput):
    """The real Flink needs something that is not installed; the message says what."""


def jars() -> Path:
    """Returns the folder with the jars of Flink 2.3.0. Raises FlinkMissing."""
    package = importlib.util.find_spec("pyflink")
    for place in list(package.submodule_search_locations or []) if package else []:
        if Path(place, "lib", FLINK_JAR).is_file():
            return Path(place, "lib")
    raise FlinkMissing(
        f"the jars of Flink 2.3.0 are not installed: get them from PyPI with  {install_command('flink')}"
    )


def java_program() -> Path:
    """Returns the ``java`` program. Raises FlinkMissing."""
    try:
        return find_java().executable
    except BadInput as error:
        raise FlinkMissing(f"the real Flink runs on a JDK 17 or newer: {error}") from None


def compiler() -> Path:
    """Returns the ``javac`` beside the Java in use, or on the PATH. Raises FlinkMissing."""
    beside = java_program().with_name("javac.exe" if sys.platform == "win32" else "javac")
    found = str(beside) if beside.exists() else shutil.which("javac")
    if found is None:
        raise FlinkMissing("there is no javac, which compiles the interpreter once: install a JDK 17 or newer")
    return Path(found)


def check_installed() -> None:
    """Raises FlinkMissing, before anything runs, for the first thing that is not installed."""
    jars()
    java_program()
    _check_py4j()


def _check_py4j() -> None:
    if importlib.util.find_spec("py4j") is None:
        raise FlinkMissing(f"py4j is not installed: {install_command('flink')}")


def classpath(*, logging: bool = False) -> list[str]:
    """Returns the jars of Flink and log4j; with ``logging`` also what connects the two (without it Flink logs nothing)."""
    lib = jars()
    names = [FLINK_JAR, *(p.name for p in lib.glob("log4j-*.jar") if logging or "slf4j" not in p.name)]
    return [str(lib / name) for name in sorted(names)]


def compiled(cache: Path, sources: Sequence[Path], libraries: Sequence[str] | None = None) -> Path:
    """Returns the folder with the classes of all Java files under ``sources``, which use these jars; None: Flink's and py4j's.

    They are compiled unless ``cache`` has them from the same text. Raises FlinkMissing without a compiler or py4j.
    """
    files = [(file.relative_to(folder), file) for folder in sources for file in sorted(folder.rglob("*.java"))]
    digest = hashlib.sha256()
    for name, file in files:
        digest.update(name.as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    target = cache / digest.hexdigest()[:16]
    if target.exists():
        return target
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        classes = Path(folder, "classes")
        jars_ = os.pathsep.join(_own_libraries() if libraries is None else libraries)
        command = [str(compiler()), "-nowarn", "-Xlint:none", "-proc:none", "-cp", jars_]
        run = subprocess.run(
            [*command, "-d", str(classes), *(str(file) for _, file in files)],
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode:
            raise BadInput(f"the Java sources do not compile:\n{run.stderr}")
        # Several processes may compile at once: the first one wins, and all have the same classes.
        if not target.exists():
            classes.rename(target)
    return target


def _own_libraries() -> list[str]:
    _check_py4j()
    from py4j.java_gateway import find_jar_path

    return [*classpath(), find_jar_path()]


class JavaMachine:
    """A Java virtual machine with Flink's classes; ``java`` is the tree of its packages.

    Both directions use one connection (py4j's ``ClientServer``): a callback that calls Java again arrives on the Java thread
    that called it.
    """

    def __init__(self, classes: Path, options: Sequence[str] = ()) -> None:
        """Starts the machine, which ends with this process at the latest. Raises FlinkMissing."""
        _check_py4j()
        from py4j.clientserver import ClientServer, JavaParameters, PythonParameters
        from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

        port, self._process = launch_gateway(
            classpath=os.pathsep.join([*classpath(), str(classes)]),
            javaopts=[*JAVA_OPTIONS, *OPENED_MODULES, *options],
            java_path=str(java_program()),
            die_on_exit=True,
            redirect_stderr=subprocess.DEVNULL,
            create_new_process_group=True,  # Ctrl-C is for flowsim, which ends Java.
            return_proc=True,
        )
        # The server that py4j starts has a thread per direction; it only serves to start the one that has not.
        self._starter = JavaGateway(gateway_parameters=GatewayParameters(port=port))
        server = self._starter.jvm.py4j.ClientServer.ClientServerBuilder().javaPort(0).build()
        server.startServer()
        self.gateway: Any = ClientServer(
            java_parameters=JavaParameters(
                port=server.getJavaServer().getListeningPort(), auto_convert=True, daemonize_memory_management=True
            ),
            python_parameters=PythonParameters(port=0, daemonize=True, daemonize_connections=True),
        )
        python = self.gateway.get_callback_server()
        address = self.gateway.jvm.java.net.InetAddress.getByName(python.get_listening_address())
        self.gateway.java_gateway_server.resetCallbackClient(address, python.get_listening_port())
        self.java: Any = self.gateway.jvm

    def close(self) -> None:
        """Ends the machine, also while it works; its own clean-up runs."""
        self._process.terminate()
        with suppress(Exception):  # The connections may be in use by a call that was interrupted.
            self.gateway.shutdown()
            self._starter.shutdown()
        try:
            self._process.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
