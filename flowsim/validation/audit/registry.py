"""Which audit judges which law."""

from __future__ import annotations

from typing import Final

from flowsim.validation.audit.async_wait import ASYNC_AUDITS
from flowsim.validation.audit.base import Audit
from flowsim.validation.audit.channels import END, FIFO, MONOTONE
from flowsim.validation.audit.conservation import CONSERVATION
from flowsim.validation.audit.ends import ENDS
from flowsim.validation.audit.event_time import IDLE, TASK_WATERMARK
from flowsim.validation.audit.flow import CREDITS, IN_FLIGHT, SEGMENTS
from flowsim.validation.audit.keys import KEY_ROUTING
from flowsim.validation.audit.lateness import LATENESS
from flowsim.validation.audit.queues import BACKLOG
from flowsim.validation.audit.tasks import ACTIONS, LIFE_CYCLE, MAILS
from flowsim.validation.audit.timers import TIMERS
from flowsim.validation.audit.valve import VALVE
from flowsim.validation.audit.windows import LATE_ROWS, WINDOW_FIRE

AUDITS: Final[dict[str, Audit]] = {
    audit.law: audit
    for audit in (
        FIFO, END, MONOTONE, VALVE, KEY_ROUTING, WINDOW_FIRE, LATE_ROWS, LATENESS, CONSERVATION, CREDITS, ACTIONS,
        SEGMENTS, BACKLOG, IN_FLIGHT, MAILS, LIFE_CYCLE, ENDS,
        TASK_WATERMARK, IDLE, TIMERS, *ASYNC_AUDITS,
    )
}  # fmt: skip
