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

A law is one guarantee of Flink's; `flowsim laws` lists them, and `flowsim laws ID` prints one section of this page. Each
is defined once, in a file below `flowsim/laws`, and judged by the same code in this process and on Spark
([decision 0030](decisions/0030-one-definition-per-law.md)). This page says what each examines and counts: **verdict, rows
examined, violations**. The tests compare the code with a second set of definitions, which walk over whole recordings
(`tests/support/oracle`), and with three laws written in SQL.

## Common definitions
**Run status** comes from the manifest: `complete`, `failed`, `canceled`, `stopped` (by `until:`), or `running` (the
process was killed: the recording ends at its last complete epoch). The run is *whole* when the status is `complete`;
otherwise the facts are a *prefix*, and only what the prefix already decides is demanded. A prefix is a consistent
cut: when an effect is in it, so is its cause.

**Order** inside a task is the column `seq`. Order on a channel is the column `position`.

**Verdict**, decided in this order:
1. *not applicable*, with a reason: the recording level is below the law's level, or the graph has nothing the law
   speaks of (stated per law; only the tables `tasks`, `operators`, `edges`, `channels` decide, never the number of
   facts). Rows examined and violations are 0. Where a run was killed before even these were recorded, all laws are
   vacuous: nothing can be said, and that is no pass.
2. *violated*: at least one violation.
3. No row was examined: *vacuous* when the run is whole, and no pass; *not applicable* when it is not, because it ended
   before there was anything to examine.
4. *holds*.

Facts of a task that is not described, and files that are not as their epoch's marker says, are no violations: the recording
is damaged and cannot be judged.

`MIN` is -2^63 (no watermark yet), `MAX` is 2^63-1. Arithmetic on timestamps is exact; a sum above `MAX` is `MAX`
(rule 10.8).

Counting is by *multisets* where the page says "missing" and "unexpected": with E the expected and A the actual
multiset, missing = |E - A| and unexpected = |A - E|. So one fire with wrong contents counts 2: one missing, one
unexpected.
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
