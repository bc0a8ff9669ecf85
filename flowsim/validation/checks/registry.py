"""Which check judges which law."""

from __future__ import annotations

from typing import Final

from flowsim.validation.checks.actions import ACTIONS
from flowsim.validation.checks.async_laws import ASYNC_CHECKS
from flowsim.validation.checks.backlog import BACKLOG
from flowsim.validation.checks.base import Check
from flowsim.validation.checks.channels import END, FIFO
from flowsim.validation.checks.conservation import CONSERVATION
from flowsim.validation.checks.credits import CREDITS
from flowsim.validation.checks.ends import ENDS
from flowsim.validation.checks.idleness import IDLE
from flowsim.validation.checks.in_flight import IN_FLIGHT
from flowsim.validation.checks.key_routing import KEY_ROUTING
from flowsim.validation.checks.late_rows import LATE_ROWS
from flowsim.validation.checks.lateness import LATENESS
from flowsim.validation.checks.life_cycle import LIFE_CYCLE
from flowsim.validation.checks.mails import MAILS
from flowsim.validation.checks.segments import SEGMENTS
from flowsim.validation.checks.task_watermarks import TASK_WATERMARK
from flowsim.validation.checks.timers import TIMERS
from flowsim.validation.checks.valve import VALVE
from flowsim.validation.checks.watermarks import MONOTONE
from flowsim.validation.checks.window_fire import WINDOW_FIRE

CHECKS: Final[dict[str, Check]] = {
    check.law: check
    for check in (
        FIFO, END, MONOTONE, VALVE, KEY_ROUTING, WINDOW_FIRE, LATE_ROWS, LATENESS, CONSERVATION, CREDITS, ACTIONS,
        SEGMENTS, BACKLOG, IN_FLIGHT, MAILS, LIFE_CYCLE, ENDS,
        TASK_WATERMARK, IDLE, TIMERS, *ASYNC_CHECKS,
    )
}  # fmt: skip
