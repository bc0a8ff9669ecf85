"""All bugs that are brought back; importing this module registers them."""

from __future__ import annotations

from flowsim.faults.historical.bug import BUGS as BUGS
from flowsim.faults.historical.bug import register_bugs
from tests.support.faults.historical.async_calls import BUGS_OF_ASYNC_CALLS
from tests.support.faults.historical.event_time import BUGS_OF_EVENT_TIME
from tests.support.faults.historical.mailboxes import BUGS_OF_MAILBOXES
from tests.support.faults.historical.network import BUGS_OF_NETWORK
from tests.support.faults.historical.timers import BUGS_OF_TIMERS

register_bugs((*BUGS_OF_ASYNC_CALLS, *BUGS_OF_EVENT_TIME, *BUGS_OF_TIMERS, *BUGS_OF_MAILBOXES, *BUGS_OF_NETWORK))
