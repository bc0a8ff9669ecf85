"""Fixtures of the cases: the command line in this process."""

from __future__ import annotations

from tests.unit.cli.conftest import flowsim as flowsim
