"""The number of examples of a property: a fixed one by default, 2,000 with ``FLOWSIM_HYPOTHESIS_PROFILE=deep``."""

from __future__ import annotations

import os

from hypothesis import settings

IS_DEEP = os.environ.get("FLOWSIM_HYPOTHESIS_PROFILE") == "deep"


def examples(number: int) -> int:
    """Returns ``number``, or that of the profile that looks for new examples if it is higher."""
    return max(number, settings.get_profile("deep").max_examples) if IS_DEEP else number
