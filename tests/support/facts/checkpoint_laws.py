"""The laws of checkpoints and of recorded state, which most jobs have nothing to examine for."""

from __future__ import annotations

from typing import Final

from flowsim.laws.catalogue import LAWS
from flowsim.laws.law_ids import LAW_IDS

OF_CHECKPOINTS: Final = frozenset(
    law.id for law in LAWS if law.machine.__module__.startswith("flowsim.laws.checkpoints")
)
OF_RECORDED_STATE: Final = "state"
"""The law that compares calls while the run records state."""
OTHER_LAWS: Final = tuple(law for law in LAW_IDS if law not in OF_CHECKPOINTS and law != OF_RECORDED_STATE)
