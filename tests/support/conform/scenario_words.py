"""Words of scenarios: durations, keys, windows, triggers, and the ends of phases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Final

from tests.support.conform.job_shapes import Window

Block = Mapping[str, Any]

UNITS_NS: Final = {
    "ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "sec": 10**9, "min": 60 * 10**9, "h": 3_600 * 10**9, "d": 86_400 * 10**9,
}  # fmt: skip
NUMBERS: Final = range(-9, 61)
"""The values of ``n`` and ``id`` for which expressions are tried."""


def ns(duration: str | int) -> int:
    """Returns a duration in ns; those that never end are far away."""
    if duration in (0, "0"):
        return 0
    if duration == "never":
        return 10**30
    number, unit = str(duration).split()
    return int(number) * UNITS_NS[unit]


def streams_of(streams: str | Sequence[str]) -> list[str]:
    return [streams] if isinstance(streams, str) else list(streams)


def exchange_of(partition: Any) -> str:
    return "default" if partition is None else "custom" if isinstance(partition, Mapping) else str(partition)


def key_type(key: Any) -> str:
    if isinstance(key, list | Mapping):
        return "several parts"
    if key == "k" or key.startswith("concat"):
        return "string"
    if key.startswith("("):
        return "tuple"
    return (
        "boolean"
        if any(sign in key for sign in "<>=")
        else "double"
        if " / " in key
        else "int"
        if key == "i"
        else "long"
    )


def checkpoints_of(settings: Block) -> str:
    block = settings.get("checkpointing")
    if block is None:
        return "none"
    if "interval" not in block:
        return "without an interval"
    if block.get("mode") == "at_least_once":
        return "at least once"
    if block.get("unaligned"):
        return "unaligned after a timeout" if ns(block.get("aligned_timeout", 0)) else "unaligned"
    return "aligned"


def end_of(actions: Sequence[Block]) -> str | None:
    kinds = {kind: action[kind] for action in actions for kind in action}
    if "stop" in kinds:
        return "stop with drain" if kinds["stop"].get("drain") else "stop"
    if "cancel" in kinds:
        return "savepoint" if "savepoint" in kinds else "retained checkpoint" if "checkpoint" in kinds else "cancel"
    return None


def window_of(window: Block) -> Window:
    time = "processing time" if window.get("time") == "processing" else "event time"
    gaps = False
    if "tumbling" in window:
        assigner = f"tumbling {time}"
    elif "sliding" in window:
        assigner = f"sliding {time}"
        gaps = ns(window["sliding"]["size"]) < ns(window["sliding"]["slide"])
    elif "session" in window:
        assigner = f"{'dynamic ' if isinstance(window['session'], Mapping) else ''}session {time}"
    elif "count" in window:
        assigner = "sliding count" if isinstance(window["count"], Mapping) else "count"
    else:
        assigner = "global"
    forms = {
        "offset": str(window.get("offset", 0)) not in ("0", "0 ms"),
        "natural stagger": window.get("stagger") == "natural",
        "gaps": gaps,
    }
    names = tuple(triggers_of(window.get("trigger")))
    evictor = window.get("evictor", {})
    kind = next((each for each in ("count", "time", "delta", "python") if each in evictor), "")
    return Window(
        assigner,
        tuple(form for form, has_it in forms.items() if has_it),
        names,
        f"{kind} {'after' if evictor.get('after') else 'before'}" if kind else "",
        ns(window.get("allowed_lateness", 0)) > 0,
        "late_output" in window,
    )


def triggers_of(trigger: Any) -> Iterable[str]:
    """Yields the names of triggers inside each other; of several, the first."""
    while trigger is not None:
        if isinstance(trigger, str):
            yield trigger.replace("_", " ")
            return
        kind, inner = next(iter(trigger.items()))
        yield "own" if kind == "python" else kind.replace("_", " ")
        trigger = (
            inner if kind == "purging" else inner["of"] if kind == "timeout" else inner[0] if kind == "any_of" else None
        )


def answer_of(answer: Block) -> str:
    """Returns what a written answer of an async call gives."""
    if "error" in answer or answer.get("silent"):
        return "error" if "error" in answer else "none"
    return {0: "no result", 1: "one result"}.get(len(answer["results"]), "two results")


def latencies_ms(latency: Any) -> set[float]:
    """Returns the possible latencies of calls in ms, as far as they are not random."""
    if not isinstance(latency, Mapping):
        return {ns(latency) / 10**6}
    if "each" not in latency:
        return set()
    each = compile(latency["each"], "latency", "eval")
    return {float(eval(each, {"n": n, "id": number, "attempt": 1})) for n, number in product(NUMBERS, range(3))}
