"""The catalogue of laws, and the ids that commands know without importing the laws."""

from __future__ import annotations

from flowsim.laws.catalogue import LAWS
from flowsim.laws.law_ids import LAW_IDS


def test_ids_are_those_of_all_laws_in_order_of_reports() -> None:
    assert tuple(law.id for law in LAWS) == LAW_IDS
