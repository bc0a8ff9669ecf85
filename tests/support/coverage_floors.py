"""Compares the coverage of flowsim's packages with the floors of the core packages; the last step of ``make coverage``.

``python -m tests.support.coverage_floors REPORT``, where REPORT is what ``coverage json`` writes. Exit code 1 when a core
package is below its floor.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

FLOORS: Final[Mapping[str, int]] = {
    "laws": 97,
    "mailbox": 97,
    "network": 97,
    "operators": 97,
    "tasks": 98,
    "timers": 97,
    "watermark": 97,
}
"""Package of the core -> the percentage of its statements that tests must run."""


@dataclass(frozen=True, slots=True)
class PackageCoverage:
    """The statements of a package, and how many of them ran."""

    package: str
    statements: int
    covered: int

    @property
    def percent(self) -> float:
        return 100 * self.covered / self.statements if self.statements else 100.0

    @property
    def floor(self) -> int | None:
        return FLOORS.get(self.package)

    @property
    def is_below(self) -> bool:
        return self.floor is not None and self.percent < self.floor


def packages(report: Mapping[str, Any]) -> list[PackageCoverage]:
    """The packages below ``flowsim`` in alphabetical order, then its own modules; packages with a floor are never left out."""
    totals: dict[str, list[int]] = {package: [0, 0] for package in FLOORS}
    for path, measured in report["files"].items():
        parts = PurePosixPath(path.replace("\\", "/")).parts
        below = parts[parts.index("flowsim") + 1 :]
        total = totals.setdefault(below[0] if len(below) > 1 else "", [0, 0])
        total[0] += measured["summary"]["num_statements"]
        total[1] += measured["summary"]["covered_lines"]
    return [
        PackageCoverage(package or "(modules)", *totals[package])
        for package in sorted(totals, key=lambda p: (not p, p))
    ]


def table(found: Iterable[PackageCoverage]) -> str:
    """A line per package: statements, percentage, floor."""
    lines = [f"{'package':12} {'statements':>10} {'covered':>9} {'floor':>6}"]
    for each in found:
        floor = "" if each.floor is None else f"{each.floor} %"
        below = "   below its floor" if each.is_below else ""
        lines.append(f"{each.package:12} {each.statements:>10,} {each.percent:>7.1f} % {floor:>6}{below}".rstrip())
    return "\n".join(lines)


def main(report: Path) -> int:
    found = packages(json.loads(report.read_text(encoding="utf-8")))
    print(table(found))
    unmeasured = [each.package for each in found if each.floor is not None and not each.statements]
    if unmeasured:
        print(f"not measured: {', '.join(unmeasured)}", file=sys.stderr)
    return int(bool(unmeasured) or any(each.is_below for each in found))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
