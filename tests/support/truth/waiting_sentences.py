"""All sentences of ``flowsim why waiting``."""

from __future__ import annotations

from collections.abc import Sequence

from tests.support.truth.actions_and_ends import ACTIONS, LIFE
from tests.support.truth.async_queues import ASYNC
from tests.support.truth.sources import ALIGNMENT, SOURCES
from tests.support.truth.task_states import STATES
from tests.support.truth.waits_for_input import INPUTS
from tests.support.truth.waits_for_output import OUTPUTS
from tests.support.why_truth import Pattern

WAITING: Sequence[Pattern] = (*STATES, *OUTPUTS, *INPUTS, *SOURCES, *ASYNC, *ACTIONS, *LIFE, *ALIGNMENT)
