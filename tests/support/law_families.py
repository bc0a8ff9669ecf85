"""Laws by family."""

from __future__ import annotations

from typing import Final

from flowsim.laws.catalogue import LAWS

CHECKPOINTS: Final = {law.id for law in LAWS if law.machine.__module__.startswith("flowsim.laws.checkpoints.")}
"""They do not apply to jobs without checkpoints."""
