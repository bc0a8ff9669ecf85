"""Command sequences with the answers of Flink's InternalTimerServiceImpl, compared step by step."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flowsim.timers.internal_timer import InternalTimer
from flowsim.timers.internal_timer_service import InternalTimerService
from tests.support.flink.system_timer import SystemTimer

DATA = Path(__file__).parent / "data" / "component" / "internal_timer_service.jsonl.gz"


class Rig:
    """The golden driver: key context, processing time and triggerable around one service.

    ``onTimer`` with timestamp % 7 == 0 registers a timer of the same kind 3 ms later.
    """

    def __init__(self) -> None:
        self.current_key: object = None
        self.current_key_id: object = None
        self.now_ms = 0
        self.scheduled: list[SystemTimer] = []
        self.fired: list[list[object]] = []
        self.service: InternalTimerService[None] = InternalTimerService("t", self, self, self)

    def set_current_key(self, key: object, key_id: object) -> None:
        self.current_key, self.current_key_id = key, key_id

    def current_processing_time_ms(self) -> int:
        return self.now_ms

    def register_timer(
        self, timestamp_ms: int, callback: Callable[[int], None], *, daemon_while_not: Callable[[], bool] | None = None
    ) -> SystemTimer:
        self.scheduled.append(SystemTimer(timestamp_ms, callback))
        return self.scheduled[-1]

    def on_event_time(self, timer: InternalTimer) -> None:
        self.fired.append(["ev", timer.key, timer.timestamp, self.current_key])
        if timer.timestamp % 7 == 0:
            self.service.register_event_time_timer(None, timer.timestamp + 3)

    def on_processing_time(self, timer: InternalTimer) -> None:
        self.fired.append(["pt", timer.key, timer.timestamp, self.current_key])
        if timer.timestamp % 7 == 0:
            self.service.register_processing_time_timer(None, timer.timestamp + 3)

    def advance_processing_time(self, now_ms: int) -> None:
        self.now_ms = now_ms
        while due := [(t.timestamp, i) for i, t in enumerate(self.scheduled) if t.live and t.timestamp <= now_ms]:
            timer = self.scheduled[min(due)[1]]
            timer.live = False
            timer.callback(timer.timestamp)

    def run(self, command: list[Any]) -> None:
        kind, arguments = command[0], command[1:]
        if kind == "wm":
            self.service.advance_watermark(arguments[0])
        elif kind == "pt":
            self.advance_processing_time(arguments[0])
        else:
            methods = {
                "reg_ev": self.service.register_event_time_timer,
                "del_ev": self.service.delete_event_time_timer,
                "reg_pt": self.service.register_processing_time_timer,
                "del_pt": self.service.delete_processing_time_timer,
            }
            self.set_current_key(arguments[0], arguments[0])
            methods[kind](None, arguments[1])

    def observation(self) -> dict[str, object]:
        return {
            "fired": self.fired,
            "n_ev": self.service.num_event_time_timers,
            "n_pt": self.service.num_processing_time_timers,
            "watermark": self.service.current_watermark,
            "sched": [t.timestamp for t in self.scheduled if t.live],
        }


def test_every_step_equals_flinks() -> None:
    with gzip.open(DATA, "rt") as lines:
        cases = [json.loads(line) for line in lines]
    assert len(cases) == 400
    for case in cases:
        rig = Rig()
        for number, (command, expected) in enumerate(zip(case["cmds"], case["out"], strict=True)):
            rig.fired.clear()
            rig.run(command)
            assert rig.observation() == expected, (case["id"], number, command)
            rig.service.validate()
