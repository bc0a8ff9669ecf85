"""The page ``docs/laws.md``, made of the files of the laws; ``make docs`` writes it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import Final

import flowsim.laws
from flowsim.laws.catalogue import FAMILIES, LAWS
from flowsim.laws.law import Law

_HEAD: Final = """\
# The laws, and what exactly each of them counts

Generated from the files below `flowsim/laws`; do not edit.

A law is one guarantee of Flink's; `flowsim laws` lists them, and `flowsim laws ID` prints one section of this page.
Each law is defined once, in a file below `flowsim/laws`; the same code checks it in this process and on Spark
([decision 0030](decisions/0030-one-definition-per-law.md)). This page defines for each law: **verdict, rows examined,
violations**. The tests compare the code with a second set of definitions over whole recordings
(`tests/support/oracle`), and with three laws in SQL.

## Common definitions
**Run status** comes from the manifest: `complete`, `failed`, `canceled`, `stopped` (by `until:`), or `running` (the
process was killed: the recording ends at its last complete epoch). The run is *whole* when the status is `complete`;
otherwise the facts are a *prefix*, and a law requires only what the prefix already determines. A prefix is a consistent
cut: if it contains an effect, it contains the cause.

The column `seq` gives the **order** inside a task, the column `position` the order on a channel.

The **verdict** is the first of these that applies:
1. *not applicable*, with a reason: the recording level is below the law's level, or the job's graph has nothing that
   the law is about (defined per law; only the tables `tasks`, `operators`, `edges`, `channels` decide, never the number
   of facts). Rows examined and violations are 0. If a run was killed before these tables were recorded, all laws are
   vacuous, which is not a pass.
2. *violated*: at least one violation.
3. No row was examined: *vacuous* if the run is whole, which is not a pass; *not applicable* if the run is not whole,
   because it ended too early.
4. *holds*.

Facts of an undescribed task, and files that do not match their epoch's marker, are not violations: the recording is
damaged and cannot be judged.

`MIN` is -2^63 (no watermark yet), `MAX` is 2^63-1. Arithmetic on timestamps is exact; a sum above `MAX` is `MAX` (rule
10.8).

"Missing" and "unexpected" rows are counted as *multisets*: with E the expected and A the actual multiset, missing = |E
- A| and unexpected = |A - E|. So one firing with wrong contents counts 2: one missing, one unexpected.
"""


def laws_page() -> str:
    """The text of the page: the laws in the order of reports, what a family has in common before its first law."""
    return "\n".join((_HEAD, *_sections()))


def _sections() -> Iterator[str]:
    for name in FAMILIES:
        family = import_module(f"{flowsim.laws.__name__}.{name}")
        title, _, common = (inspect.getdoc(family) or "").partition("\n\n")
        if common:
            yield f"## {title.rstrip('.')}\n{common}\n"
        for law in LAWS:
            if law.machine.__module__.startswith(f"{family.__name__}."):
                yield _section(law)


def _section(law: Law) -> str:
    columns = "; ".join(f"`{table}` ({', '.join(columns)})" for table, columns in law.reads.items())
    return (
        f"## {law.id}\n{law.sentence}\n\n"
        f"Rules {', '.join(law.rules)}. Level {law.level.name.lower()}. Reads {columns}.\n\n"
        f"{law.counts.strip()}\n"
    )


if __name__ == "__main__":
    print(laws_page(), end="")
