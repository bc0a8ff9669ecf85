"""Drives the classes of the real Flink 2.3.0 from Python: one Java virtual machine for a pytest session.

How to write a differential test
--------------------------------
A test asks for the fixture ``differential`` and hands it a state machine:

    class TaskMailboxMachine(DifferentialMachine):
        subject = "TaskMailbox"

        def __init__(self) -> None:
            super().__init__()
            self.real = self.flink.java.org.apache.flink.streaming.runtime.tasks.mailbox.TaskMailboxImpl()
            self.ours = TaskMailbox()

        @rule()
        def size(self) -> None:
            self.both(self.real.size, self.ours.__len__)

    def test_the_mailbox_is_flinks(differential: Differential) -> None:
        differential.run(TaskMailboxMachine)

``both`` counts a command and compares answers, or the category of what was raised (``errors`` of the machine: simple name
of the Java class -> our class). ``pytest --flink-examples=5000`` tries more and other sequences than the fixed ones.

What to know about py4j
-----------------------
* Both directions use one connection (py4j's ``ClientServer``): a Python callback that calls Java again arrives on the Java
  thread that called it, which is what mailboxes check.
* ``flink.java`` is the tree of packages; a part that is a Python keyword is reached with ``getattr``.
* A Python int becomes an Integer when it fits, a Long otherwise; ``boxed`` forces the class inside an Object[].
* ``calls`` runs many methods of one object in one round trip (0.15 ms); it needs ``javac``, as do all classes under
  ``java/probes``, which are compiled once and stand in the classpath. A probe in one of Flink's own packages may use what
  is package-private there: the jars are not sealed.
* Whole jobs run on an embedded cluster in the same virtual machine: write a class like ``flowsim.jobs.ScriptedChain``
  and run it with ``job``.
* Java's abstract classes cannot be implemented from Python, only interfaces: write a probe.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from flowsim.errors import BadInput
from flowsim.validation.java import find_java

PROBES = Path(__file__).parents[2] / "differential" / "java" / "probes"
_OPENED = ("java.base/java.lang", "java.base/java.util", "java.base/java.util.concurrent", "java.base/java.time")
JAVA_OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-ea:org.apache.flink...")
OPENED_MODULES = tuple(f"--add-opens={module}=ALL-UNNAMED" for module in _OPENED)


class Missing(Exception):
    """What the real Flink needs and this machine lacks, as the reason of a skip."""


def jars() -> Path:
    """The folder with the jars of ``apache-flink-libraries``."""
    package = importlib.util.find_spec("pyflink")
    places = list(package.submodule_search_locations or []) if package else []
    for place in places:
        if list(Path(place, "lib").glob("flink-dist-2.3.0.jar")):
            return Path(place, "lib")
    raise Missing("the jars of Flink 2.3.0 are not installed: pip install --no-deps -r requirements-flink.lock")


def java_program() -> Path:
    try:
        return find_java().executable
    except BadInput as error:
        raise Missing(str(error)) from None


def compiler() -> Path:
    """The ``javac`` beside the Java in use, or on the PATH."""
    beside = java_program().with_name("javac")
    found = str(beside) if beside.exists() else shutil.which("javac")
    if found is None:
        raise Missing("javac is not there: install a JDK 17 or newer")
    return Path(found)


def classpath(*, logging: bool = False) -> list[str]:
    """Flink itself and log4j; with ``logging`` also what connects the two (without it Flink logs nothing)."""
    lib = jars()
    names = ["flink-dist-2.3.0.jar", *(p.name for p in lib.glob("log4j-*.jar") if logging or "slf4j" not in p.name)]
    return [str(lib / name) for name in sorted(names)]


def compiled(sources: Path, cache: Path) -> Path:
    """The classes of all Java files under ``sources``, compiled unless ``cache`` has them from the same text."""
    files = sorted(sources.rglob("*.java"))
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.relative_to(sources).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    target = cache / digest.hexdigest()[:16]
    if target.exists():
        return target
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        classes = Path(folder, "classes")
        command = [str(compiler()), "-nowarn", "-Xlint:none", "-proc:none", "-cp", os.pathsep.join(classpath())]
        run = subprocess.run(
            [*command, "-d", str(classes), *map(str, files)], capture_output=True, text=True, check=False
        )
        if run.returncode:
            raise RuntimeError(f"{sources} does not compile:\n{run.stderr}")
        # Several workers may compile at once: the first one wins, and all have the same classes.
        if not target.exists():
            classes.rename(target)
    return target


class Flink:
    """The virtual machine and its entry points."""

    def __init__(self, cache: Path) -> None:
        if importlib.util.find_spec("py4j") is None:
            raise Missing("py4j is not installed: pip install -e '.[dev]'")
        from py4j.clientserver import ClientServer, JavaParameters, PythonParameters
        from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

        paths = [*classpath(), str(compiled(PROBES, cache))]
        port = launch_gateway(
            classpath=os.pathsep.join(paths),
            javaopts=[*JAVA_OPTIONS, *OPENED_MODULES],
            java_path=str(java_program()),
            die_on_exit=True,
            redirect_stderr=subprocess.DEVNULL,
        )
        # The server that py4j starts has a thread per direction; it only serves to start the one that has not.
        self._starter = JavaGateway(gateway_parameters=GatewayParameters(port=port))
        server = self._starter.jvm.py4j.ClientServer.ClientServerBuilder().javaPort(0).build()
        server.startServer()
        self._gateway = ClientServer(
            java_parameters=JavaParameters(
                port=server.getJavaServer().getListeningPort(), auto_convert=True, daemonize_memory_management=True
            ),
            python_parameters=PythonParameters(port=0, daemonize=True, daemonize_connections=True),
        )
        python = self._gateway.get_callback_server()
        address = self._gateway.jvm.java.net.InetAddress.getByName(python.get_listening_address())
        self._gateway.java_gateway_server.resetCallbackClient(address, python.get_listening_port())
        self.java: Any = self._gateway.jvm
        self.none: Any = self.objects()

    def close(self) -> None:
        self._gateway.shutdown()
        self._starter.shutdown()

    def class_(self, name: str) -> Any:
        """The java.lang.Class of ``name``: a full name (``$`` before an inner class), or int, long, boolean, double."""
        boxes = {"int": "Integer", "long": "Long", "boolean": "Boolean", "double": "Double", "byte": "Byte"}
        if name in boxes:
            return getattr(self.java.java.lang, boxes[name]).TYPE
        return self.java.java.lang.Class.forName(name)

    def new(self, name: str, types: Iterable[str], *arguments: object) -> Any:
        """An object by a constructor that may be private; ``types`` are the full names of its parameters."""
        constructor = self.class_(name).getDeclaredConstructor(self._classes(types))
        constructor.setAccessible(True)
        return constructor.newInstance(self.objects(*arguments))

    def method(self, name: str, method: str, *types: str) -> Callable[..., Any]:
        """``call(target, *arguments)`` of a method that may be private; ``target`` None for a static one."""
        found = self.class_(name).getDeclaredMethod(method, self._classes(types))
        found.setAccessible(True)
        return lambda target, *arguments: found.invoke(target, self.objects(*arguments))

    def field(self, name: str, field: str, target: object) -> Any:
        """The value of a field that may be private; ``target`` None for a static one."""
        found = self.class_(name).getDeclaredField(field)
        found.setAccessible(True)
        return found.get(target)

    def set_field(self, name: str, field: str, target: object, value: object) -> None:
        found = self.class_(name).getDeclaredField(field)
        found.setAccessible(True)
        found.set(target, value)

    def array(self, element: str, values: Iterable[object]) -> Any:
        """A Java array whose elements are of the class ``element``; Python callbacks may be elements."""
        elements = list(values)
        result = self.java.java.lang.reflect.Array.newInstance(self.class_(element), len(elements))
        for index, value in enumerate(elements):
            if value is not None:
                self.java.java.lang.reflect.Array.set(result, index, value)
        return result

    def objects(self, *values: object) -> Any:
        """An Object[]."""
        return self.array("java.lang.Object", values)

    def boxed(self, box: str, *values: object) -> Any:
        """An Object[] whose elements' class stays ``box``, such as Long: py4j would make an Integer of 5."""
        typed = self._gateway.new_array(getattr(self.java.java.lang, box), len(values))
        for index, value in enumerate(values):
            typed[index] = value
        result = self.objects(*(None for _ in values))
        self.java.java.lang.System.arraycopy(typed, 0, result, 0, len(values))
        return result

    def implement(self, interface: str, **methods: Callable[..., Any]) -> Any:
        """A Java object of ``interface`` whose methods are Python functions; one that is not given answers null.

        A function throws in Java what it raises as a ``Throws``.
        """
        members: dict[str, Any] = {name: _as_method(method) for name, method in methods.items()}
        members["Java"] = type("Java", (), {"implements": [interface]})
        callback = type(interface.rpartition(".")[2], (_Callback,), members)()
        return self.java.flowsim.differential.Callbacks.throwing(self.class_(interface), callback)

    def calls(self, target: object, *calls: tuple[object, ...] | str) -> list[Any]:
        """The answers of many methods of ``target`` in one round trip; an exception is answered as Thrown.

        A call is a method's name, or a tuple of it and arguments that are int, bool or str. None stands for null, an
        empty Optional and void; a collection is a list; an object of another class is its text.
        """
        script = "\n".join("\t".join(map(_word, c)).removeprefix("s") if isinstance(c, tuple) else c for c in calls)
        return [_value(line) for line in self.java.flowsim.differential.Calls.run(target, script).split("\n")]

    def job(self, name: str, parameters: object) -> dict[str, Any]:
        """Runs the job of the class ``flowsim.jobs.<name>`` (``java/probes``) on an embedded cluster.

        Answers ``{"log": {task: [event]}, "error": cause or None}``: the entries of its Log, in the order of each task.
        """
        result: dict[str, Any] = json.loads(self.java.flowsim.jobs.Cluster.run(name, json.dumps(parameters)))
        return result

    def _classes(self, names: Iterable[str]) -> Any:
        return self.array("java.lang.Class", [self.class_(name) for name in names])


class Throws(Exception):
    """Raised by a callback: Java gets an exception of the class ``name``, one with a constructor of one String."""

    def __init__(self, name: str, message: str = "") -> None:
        super().__init__(f"<throws {name}: {message}>")


class Thrown:
    """What a Java method threw: the simple name of its class and the message."""

    __slots__ = ("name", "message")

    def __init__(self, name: str, message: str) -> None:
        self.name = name
        self.message = message

    def __repr__(self) -> str:
        return f"{self.name}({self.message!r})"


def thrown(error: Any) -> Thrown:
    """What a Py4JJavaError stands for, without reflection's wrapper."""
    exception = error.java_exception
    if exception.getClass().getSimpleName() == "InvocationTargetException":
        exception = exception.getCause()
    return Thrown(exception.getClass().getSimpleName(), exception.getMessage() or "")


class _Callback:
    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_: None

    def toString(self) -> str:
        return type(self).__name__

    def hashCode(self) -> int:
        return 0

    def equals(self, other: object) -> bool:
        return self is other


def _as_method(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda _, *arguments: function(*arguments)


def _word(value: object) -> str:
    match value:
        case bool():
            return f"z{str(value).lower()}"
        case int():
            return f"i{value}"
        case str():
            return f"s{value}"
    raise TypeError(f"{value!r} cannot be an argument of calls(): int, bool and str can")


def _value(line: str) -> Any:
    kind, text = line[:1], line[1:]
    match kind:
        case "i" | "l":
            return int(text)
        case "z":
            return text == "true"
        case "s":
            return text
        case "n":
            return None
        case "[":
            return [_value(element) for element in text.split("\t")] if text else []
        case _:
            return Thrown(*text.split(" ", 1))
