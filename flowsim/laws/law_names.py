"""Whether there is a law of a name."""

from __future__ import annotations

from importlib import import_module

from flowsim.errors import did_you_mean
from flowsim.laws.law_ids import LAW_IDS


def why_unknown(name: str, *others: str) -> str:
    """Why a name is not that of a law or one of ``others``; '' if it is.

    Only for a name that is not that of a law of flowsim it imports the laws, those of other packages among them.
    """
    if name in LAW_IDS or name in others:
        return ""
    ids = [law.id for law in import_module("flowsim.laws.catalogue").LAWS]
    return "" if name in ids else f"there is no law {name!r}{did_you_mean(name, [*ids, *others])}"
