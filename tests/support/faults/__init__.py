"""The kinds of faults that only tests put into a run; importing this package registers them."""

from __future__ import annotations

from flowsim.faults.catalogue import FAULT_KINDS as FAULT_KINDS
from flowsim.faults.catalogue import Fault as Fault
from flowsim.faults.faulty_components import register_faults
from tests.support.faults.faulty_components import BrokenComponents
from tests.support.faults.kinds import KINDS

register_faults(BrokenComponents, KINDS)
