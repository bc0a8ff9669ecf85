"""Command sequences with the answers of Flink's watermark generators and combiner, compared step by step."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from flowsim.units import NS_PER_MS
from flowsim.watermark.combined_watermark_status import IndexedCombinedWatermarkStatus
from flowsim.watermark.generators import (
    AscendingTimestampsWatermarks,
    BoundedOutOfOrdernessWatermarks,
    WatermarkGenerator,
)
from flowsim.watermark.idleness import WatermarksWithIdleness
from flowsim.watermark.watermark_output import WatermarkOutput
from flowsim.watermark.watermark_output_multiplexer import WatermarkOutputMultiplexer

DATA = Path(__file__).parent / "data" / "component"


def golden_cases(name: str) -> list[dict[str, Any]]:
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


class Listener:
    def __init__(self) -> None:
        self.heard: list[list[object]] = []

    def emit_watermark(self, timestamp: int) -> None:
        self.heard.append(["wm", timestamp])

    def mark_idle(self) -> None:
        self.heard.append(["idle"])

    def mark_active(self) -> None:
        self.heard.append(["active"])


class ManualClock:
    def __init__(self) -> None:
        self.now_ns = 1000

    def __call__(self) -> int:
        return self.now_ns


def generator_of(case: dict[str, Any], clock: ManualClock) -> WatermarkGenerator:
    inner: WatermarkGenerator = (
        AscendingTimestampsWatermarks()
        if case["kind"] == "ascending_idle"
        else BoundedOutOfOrdernessWatermarks(case["bound"])
    )
    return inner if case["kind"] == "bounded" else WatermarksWithIdleness(inner, case["idle_ms"], clock)


def test_generators_with_and_without_idleness_equal_flinks() -> None:
    cases = golden_cases("watermark_generators")
    assert len(cases) == 400
    for case in cases:
        clock, listener = ManualClock(), Listener()
        generator = generator_of(case, clock)
        for number, (command, expected) in enumerate(zip(case["cmds"], case["out"], strict=True)):
            listener.heard.clear()
            if command[0] == "event":
                generator.on_event("x", command[1], listener)
            elif command[0] == "periodic":
                generator.on_periodic_emit(listener)
            else:
                clock.now_ns += command[1] * NS_PER_MS
            assert listener.heard == expected, (case["id"], number, command)


def test_combined_watermark_of_several_inputs_equals_flinks() -> None:
    cases = golden_cases("combined_watermark_status")
    assert len(cases) == 300
    for case in cases:
        combined = IndexedCombinedWatermarkStatus(case["inputs"])
        for number, (command, expected) in enumerate(zip(case["cmds"], case["out"], strict=True)):
            kind, index, argument = command
            grew = (
                combined.update_watermark(index, argument) if kind == "wm" else combined.update_status(index, argument)
            )
            assert [grew, combined.combined_watermark, combined.idle] == expected, (case["id"], number, command)


def run_on_multiplexer(multiplexer: WatermarkOutputMultiplexer, command: list[Any]) -> bool | None:
    match command:
        case ["register", split]:
            multiplexer.register_new_output(split)
        case ["unregister", split]:
            return multiplexer.unregister_output(split)
        case ["periodic"]:
            multiplexer.on_periodic_emit()
        case [mode, split, action, *timestamp]:
            output: WatermarkOutput = (
                multiplexer.immediate_output(split) if mode == "immediate" else multiplexer.deferred_output(split)
            )
            if action == "wm":
                output.emit_watermark(timestamp[0])
            elif action == "idle":
                output.mark_idle()
            else:
                output.mark_active()
    return None


def test_multiplexed_watermark_of_splits_equals_flinks() -> None:
    cases = golden_cases("watermark_output_multiplexer")
    assert len(cases) == 300
    for case in cases:
        listener = Listener()
        multiplexer = WatermarkOutputMultiplexer(listener)
        for number, (command, expected) in enumerate(zip(case["cmds"], case["out"], strict=True)):
            listener.heard.clear()
            result = run_on_multiplexer(multiplexer, command)
            assert {"res": result, "emitted": listener.heard} == expected, (case["id"], number, command)
