"""All bugs that are brought back."""

from __future__ import annotations

from tests.support.jobs.historical_bugs.async_calls import BUGS_OF_ASYNC_CALLS
from tests.support.jobs.historical_bugs.event_time import BUGS_OF_EVENT_TIME
from tests.support.jobs.historical_bugs.mailboxes import BUGS_OF_MAILBOXES
from tests.support.jobs.historical_bugs.network import BUGS_OF_NETWORK
from tests.support.jobs.historical_bugs.timers import BUGS_OF_TIMERS

BUGS = (*BUGS_OF_ASYNC_CALLS, *BUGS_OF_EVENT_TIME, *BUGS_OF_TIMERS, *BUGS_OF_MAILBOXES, *BUGS_OF_NETWORK)
