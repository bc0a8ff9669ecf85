"""Command sequences with the answers of Flink's StatusWatermarkValve, compared step by step."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.watermark.status_watermark_valve import StatusWatermarkValve

DATA = Path(__file__).parent / "data" / "component" / "status_watermark_valve.jsonl.gz"


class Listener:
    def __init__(self) -> None:
        self.heard: list[list[object]] = []

    def emit_watermark(self, timestamp: int) -> None:
        self.heard.append(["wm", timestamp])

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        self.heard.append(["st", status.name])


def test_every_step_equals_flinks() -> None:
    with gzip.open(DATA, "rt") as lines:
        cases = [json.loads(line) for line in lines]
    assert len(cases) == 600
    for case in cases:
        listener = Listener()
        valve = StatusWatermarkValve(case["channels"], listener)
        for number, (command, expected) in enumerate(zip(case["cmds"], case["out"], strict=True)):
            listener.heard.clear()
            kind, channel, argument = command
            if kind == "wm":
                valve.input_watermark(argument, channel)
            else:
                valve.input_watermark_status(WatermarkStatus[argument], channel)
            assert listener.heard == expected, (case["id"], number, command)
            valve.validate()
