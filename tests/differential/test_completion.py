"""Completion beside the real java.util.concurrent.CompletableFuture: which callbacks run, with what, in which order."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Protocol

from flowsim.network.completion import Completion
from tests.support.flink.gateway import Flink
from tests.support.flink.machine import Answers, Differential

FUTURES = range(3)
Command = tuple[str, int, int, str]
"""What to do, with which future, with which other future or number, and what a callback does besides its record."""


class Futures(Protocol):
    """The futures of a script."""

    def complete(self, future: int, result: int) -> bool: ...

    def fail(self, future: int, message: str) -> bool: ...

    def forward(self, future: int, other: int) -> None: ...

    def when_complete(self, future: int, callback: Callable[[int | None, str | None], None]) -> None: ...


class JavasFutures:
    def __init__(self, flink: Flink) -> None:
        self._flink = flink
        self._futures: list[Any] = [flink.java.java.util.concurrent.CompletableFuture() for _ in FUTURES]

    def complete(self, future: int, result: int) -> bool:
        return bool(self._futures[future].complete(result))

    def fail(self, future: int, message: str) -> bool:
        return bool(self._futures[future].completeExceptionally(self._flink.java.java.lang.RuntimeException(message)))

    def forward(self, future: int, other: int) -> None:
        """As Flink's FutureUtils.forward."""
        self.when_complete(
            future, lambda result, error: self.fail(other, error) if result is None else self.complete(other, result)
        )

    def when_complete(self, future: int, callback: Callable[[int | None, str | None], object]) -> None:
        def accept(result: int | None, error: Any) -> None:
            callback(result, None if error is None else error.getMessage())

        self._futures[future].whenComplete(self._flink.implement("java.util.function.BiConsumer", accept=accept))


class OurFutures:
    def __init__(self) -> None:
        self._futures: list[Completion[int]] = [Completion() for _ in FUTURES]

    def complete(self, future: int, result: int) -> bool:
        return self._futures[future].complete(result)

    def fail(self, future: int, message: str) -> bool:
        return self._futures[future].complete_exceptionally(ValueError(message))

    def forward(self, future: int, other: int) -> None:
        self._futures[future].forward_to(self._futures[other])

    def when_complete(self, future: int, callback: Callable[[int | None, str | None], object]) -> None:
        self._futures[future].when_complete(
            lambda result, error: callback(result, None if error is None else str(error))
        )


def commands(random: Random) -> list[Command]:
    """Several callbacks of each future, most of them before its end."""
    script: list[Command] = [("new", 0, 0, "")]
    for _ in range(random.randint(6, 20)):
        future, other = random.choice(FUTURES), random.choice(FUTURES)
        kind = random.choice(["when_complete"] * 6 + ["forward", "complete", "fail"])
        then = random.choice(["nothing", "nothing", "complete", "fail", "register"])
        script.append((kind, future, other, then))
    return [*script, *(("complete", future, 9, "") for future in FUTURES)]


def answers(futures: Futures, script: list[Command]) -> list[str]:
    """The answer to each command, with the calls of callbacks up to its end."""
    calls: list[str] = []

    def register(future: int, name: str, other: int, then: str) -> None:
        def callback(result: int | None, error: str | None) -> None:
            calls.append(f"{name} {result} {error}")
            match then:
                case "complete":
                    futures.complete(other, 10)
                case "fail":
                    futures.fail(other, "10")
                case "register":
                    register(other, f"{name}+", other, "nothing")

        futures.when_complete(future, callback)

    found = []
    for number, (kind, future, other, then) in enumerate(script):
        answer: bool | None = None
        match kind:
            case "when_complete":
                register(future, f"c{number}", other, then)
            case "forward":
                futures.forward(future, other)
            case "complete":
                answer = futures.complete(future, other)
            case "fail":
                answer = futures.fail(future, str(other))
        found.append(f"{answer} {calls}")
        calls.clear()
    return found


def test_every_callback_equals_javas(differential: Differential) -> None:
    def play(script: list[Command]) -> Answers:
        return answers(JavasFutures(differential.flink), script), answers(OurFutures(), script)

    differential.run_scripts("CompletableFuture", commands, play, examples=40)
