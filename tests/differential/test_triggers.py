"""Every trigger beside the real one: results, what is done with timers, and state, command by command (rules 10.17-10.24)."""

from __future__ import annotations

import re
from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsim.errors import BadInput
from flowsim.operators.windowing.triggers.any_of_trigger import AnyOfTrigger
from flowsim.operators.windowing.triggers.continuous_triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
)
from flowsim.operators.windowing.triggers.count_triggers import CountTrigger, DeltaTrigger
from flowsim.operators.windowing.triggers.nested_triggers import ProcessingTimeoutTrigger, PurgingTrigger
from flowsim.operators.windowing.triggers.time_triggers import (
    EndOfStreamTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
)
from flowsim.operators.windowing.triggers.trigger import Trigger
from flowsim.operators.windowing.windows import GLOBAL_WINDOW, TimeWindow, Window
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from flowsim.values.types import Types
from tests.support.flink.machine import Differential, java_text
from tests.support.operators.scripted_context import ScriptedContext, written

TIME_WINDOWS: tuple[Window, ...] = (
    TimeWindow(0, 10), TimeWindow(5, 40), TimeWindow(-30, 1), TimeWindow(-7, -2), TimeWindow(MAX_WATERMARK - 50, NO_TIMESTAMP),
)  # fmt: skip
"""The last one ends with time itself, so that its end wraps around."""
SIMPLE = [
    ["event_time"], ["processing_time"], ["never"], ["end_of_stream"], ["count", "1"], ["count", "3"], ["count", "0"],
    ["delta", "2.5"], ["delta", "0.0"], ["continuous_event_time", "7"], ["continuous_event_time", "100"],
    ["continuous_processing_time", "1"], ["continuous_processing_time", "7"], ["continuous_processing_time", "100"],
]  # fmt: skip
TIME_WINDOWS_ONLY = ("event_time", "processing_time")
GLOBAL_ONLY = ("never", "end_of_stream")
WITHOUT_NUMBER = (*TIME_WINDOWS_ONLY, *GLOBAL_ONLY)
KINDS = [*sorted({words[0] for words in SIMPLE}), "purging", "timeout", "any_of"]

REFUSED = re.compile("!(UnsupportedOperationException|NullPointerException)")
"""Merging what cannot merge; and a continuous trigger called for a timer that is not its own."""

near = st.one_of(st.integers(-40, 60), st.integers(-40, 60), st.sampled_from([0, 6, 7, 9, 14, 21, 28, 35, 39, -3, -8]))
times = st.one_of(
    near, near, near, st.sampled_from([NO_TIMESTAMP, MAX_WATERMARK - 51, MAX_WATERMARK - 1, MAX_WATERMARK])
)
Command = tuple[str, int, int, int, int, int]
"""Name, watermark, processing time, which window, and two numbers."""
commands = st.tuples(
    st.sampled_from(["element"] * 4 + ["event_time", "processing_time", "timer", "timer", "merge", "clear"]),
    times, near, st.integers(0, 60), times, st.integers(0, 10),
)  # fmt: skip


@st.composite
def triggers(draw: st.DrawFn, kind: str) -> list[str]:
    """In words, from the outside in."""
    simple = st.sampled_from([words for words in SIMPLE if words[0] == kind] or SIMPLE)
    inner = st.one_of(simple, simple.map(lambda words: ["purging", *words]))
    if kind == "purging":
        return ["purging", *draw(st.one_of(inner, timeouts(inner)))]
    if kind == "timeout":
        return draw(timeouts(st.one_of(inner, timeouts(inner))))
    if kind == "any_of":
        parts = any_of(st.one_of(inner, inner, timeouts(inner)))
        return draw(st.one_of(parts, any_of(st.one_of(inner, parts)), parts.map(lambda words: ["purging", *words])))
    return draw(simple)


def any_of(part: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    return st.lists(part, min_size=1, max_size=3).map(lambda parts: ["any_of", str(len(parts)), *chain(*parts)])


@st.composite
def timeouts(draw: st.DrawFn, inner: st.SearchStrategy[list[str]]) -> list[str]:
    flags = draw(st.lists(st.booleans(), min_size=2, max_size=2))
    return ["timeout", str(draw(st.integers(0, 30))), *map(java_text, flags), *draw(inner)]


def built(words: list[str]) -> Trigger:
    trigger, left = built_first(words)
    assert not left, words
    return trigger


def built_first(words: list[str]) -> tuple[Trigger, list[str]]:
    """The trigger at the beginning, and the words behind it."""
    match words:
        case ["purging", *inner]:
            nested, left = built_first(inner)
            return PurgingTrigger(nested), left
        case ["timeout", interval, resets, clears, *inner]:
            nested, left = built_first(inner)
            return ProcessingTimeoutTrigger(nested, int(interval), resets == "true", clears == "true"), left
        case ["any_of", count, *left]:
            parts = []
            for _ in range(int(count)):
                part, left = built_first(left)
                parts.append(part)
            return AnyOfTrigger.of(*parts), left
    length = 1 if words[0] in WITHOUT_NUMBER else 2
    return built_simple(words[:length]), words[length:]


def built_simple(words: list[str]) -> Trigger:
    match words:
        case ["event_time"]:
            return EventTimeTrigger()
        case ["processing_time"]:
            return ProcessingTimeTrigger()
        case ["never"]:
            return NeverTrigger()
        case ["end_of_stream"]:
            return EndOfStreamTrigger()
        case ["count", count]:
            return CountTrigger(int(count))
        case ["delta", threshold]:
            return DeltaTrigger(float(threshold), distance, Types.LONG())
        case ["continuous_event_time", interval]:
            return ContinuousEventTimeTrigger(int(interval))
        case ["continuous_processing_time", interval]:
            return ContinuousProcessingTimeTrigger(int(interval))
    raise AssertionError(words)


def distance(old: object, new: object) -> float:
    assert isinstance(old, int)
    assert isinstance(new, int)
    return float(new - old)


class Played:
    """Our trigger under a script; writes the script down as the real one is to hear it."""

    def __init__(self, words: list[str]) -> None:
        self.trigger = built(words)
        self.ctx = ScriptedContext()
        is_global = any(word in GLOBAL_ONLY for word in words)
        self.windows = (GLOBAL_WINDOW,) if is_global else TIME_WINDOWS
        if not is_global and not any(word in TIME_WINDOWS_ONLY for word in words):
            self.windows = (*TIME_WINDOWS, GLOBAL_WINDOW)
        self.timers: list[tuple[str, str, Window]] = []
        self.script: list[str] = []
        self.answers: list[str] = []

    def play(self, command: Command) -> None:
        name, self.ctx.watermark, self.ctx.now, place, number, other = command
        window = self.ctx.at = self.windows[place % len(self.windows)]
        if name == "timer":
            # One of those that it registered, when there is one: what really calls a trigger back.
            name, text, window = self.timers[place % len(self.timers)] if self.timers else ("event_time", "9", window)
            self.ctx.at, number = window, int(text)
        line = [str(self.ctx.watermark), str(self.ctx.now), written(window), name]
        trigger = self.trigger
        try:
            match name:
                case "element":
                    line += [str(other), str(number)]
                    timestamp = None if number == NO_TIMESTAMP else number
                    result = trigger.on_element(other, timestamp, window, self.ctx).name
                case "event_time":
                    line.append(str(number))
                    result = trigger.on_event_time(number, window, self.ctx).name
                case "processing_time":
                    line.append(str(number))
                    result = trigger.on_processing_time(number, window, self.ctx).name
                case "merge":
                    self.ctx.merged = [each for i, each in enumerate(self.windows) if other >> i & 1 and each != window]
                    line += map(written, self.ctx.merged)
                    trigger.on_merge(window, self.ctx)
                    result = "-"
                case _:
                    trigger.clear(window, self.ctx)
                    result = "-"
        except BadInput:
            result = "!refused"
        self.script.append(" ".join(line))
        calls = self.ctx.take_timer_calls()
        kinds = {"+e": "event_time", "+p": "processing_time"}
        self.timers += [(kinds[call[:2]], call[2:], window) for call in calls if call[:2] in kinds]
        kept = ", ".join(f"{name}={value}" for name, value in sorted(self.ctx.kept().items()))
        self.answers.append(f"{result} [{', '.join(calls)}] {{{kept}}}")


@pytest.mark.parametrize("kind", KINDS)
def test_triggers_equal_flinks(differential: Differential, kind: str) -> None:
    real = differential.flink.java.flowsim.differential.Triggers

    @differential.settings(40)
    @given(triggers(kind), st.lists(commands, min_size=8, max_size=40))
    def compare(words: list[str], script: list[Any]) -> None:
        # A trigger is for one kind of window where Flink's types say so.
        if any(word in TIME_WINDOWS_ONLY for word in words) and any(word in GLOBAL_ONLY for word in words):
            return
        played = Played(words)
        for command in script:
            played.play(command)
        theirs = REFUSED.sub("!refused", real.run(" ".join(words), "\n".join(played.script))).split("\n")
        with differential.comparing(f"{kind} trigger", commands=len(script)):
            mine = [java_text(played.trigger.can_merge()), *played.answers]
            assert mine == theirs, "\n".join(played.script)

    compare()


def test_parts_that_share_the_name_of_a_state_would_share_its_count(differential: Differential) -> None:
    """Why every part has states of its own: two CountTriggers of Flink in one trigger count each record twice."""
    real = differential.flink.java.flowsim.differential.Triggers
    script = "\n".join(f"0 0 0:10 element 1 {timestamp}" for timestamp in range(6))
    shared = [line.split()[0] for line in real.run("any_of_shared 2 count 4 count 5", script).split("\n")[1:]]
    apart = [line.split()[0] for line in real.run("any_of 2 count 4 count 5", script).split("\n")[1:]]
    assert shared == ["CONTINUE", "CONTINUE", "FIRE", "CONTINUE", "FIRE", "CONTINUE"]
    assert apart == ["CONTINUE", "CONTINUE", "CONTINUE", "FIRE", "FIRE", "CONTINUE"]
