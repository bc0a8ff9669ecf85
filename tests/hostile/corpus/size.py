"""Size: more than a scenario may ask for."""

from __future__ import annotations

from tests.hostile.case import REFUSED, Case
from tests.hostile.inputs import check, run, scenario

CASES = [
    Case("scenario over the limit", run(lambda: scenario() + "#" * (1 << 20)), REFUSED, "s.yaml:1:1", "--limit scenario_bytes="),
    Case("limit that does not exist", check(scenario(), "--limit", "memory=1"), REFUSED, "--limit", "there is no limit 'memory'"),
    Case("limit without a value", check(scenario(), "--limit", "scenario_bytes"), REFUSED, "--limit", "expected NAME=VALUE"),
    Case("limit of a scenario", check(scenario(settings="limits: {}")), REFUSED, "s.yaml:3:12", "unknown key 'limits'"),
]  # fmt: skip
