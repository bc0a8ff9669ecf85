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

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from flowsim.conform.java_machine import SOURCES, JavaMachine, compiled

PROBES = Path(__file__).parents[2] / "differential" / "java" / "probes"


class Flink:
    """The virtual machine and its entry points."""

    def __init__(self, cache: Path) -> None:
        self.machine = JavaMachine(compiled(cache, (SOURCES, PROBES)), ("-ea:org.apache.flink...",))
        self.java: Any = self.machine.java
        self.none: Any = self.objects()

    def close(self) -> None:
        self.machine.close()

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
        typed = self.machine.gateway.new_array(getattr(self.java.java.lang, box), len(values))
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
