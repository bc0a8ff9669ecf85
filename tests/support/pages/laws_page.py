"""The page ``docs/laws.md``, made of the files of the laws; ``make docs`` writes it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from flowsim.laws.catalogue import LAWS, common_terms
from flowsim.laws.law import Law

_HEAD: Final = """\
# The laws, and what exactly each of them counts

Generated from the files below `flowsim/laws`; do not edit.

A law is one guarantee of Flink. `flowsim laws` lists the laws, and `flowsim laws ID` prints one section of this page.
Each law is defined once, in a file below `flowsim/laws`. The same code checks it in the flowsim process and on Spark
([decision 0030](decisions/0030-one-definition-per-law.md)). This page defines the **verdict**, the **rows examined**
and the **violations** of each law. Of a law that examines row after row, `make law-mutants` switches off each part, and a
test fails every time. The tests compare the laws that examine whole columns with second definitions over whole recordings
(`tests/support/oracle`), and three laws also with SQL.

## Common definitions
**Status.** The manifest has the status of the run: `complete`, `failed`, `canceled`, `stopped` (by `until:`) or
`running` (the process was killed, and the recording ends at its last complete epoch). A run with the status `complete`
is *whole*. The facts of any other run are a *prefix*. A prefix is a consistent cut: if it contains an effect, it
contains the cause. A law requires of a prefix only what the prefix already determines.

**Verdict.** The verdict of a law is the first of these that applies:
1. *not applicable*: the recording level is below the level of the law.
2. *vacuous*, which is not a pass: the run was killed before the description of the job was recorded.
3. *not applicable*: the job has nothing that the law is about. Each law says what it needs; if it says nothing, it
   applies to every job. Only the tables `tasks`, `operators`, `edges`, `channels` and `pools` decide this, never the
   number of facts.
4. *violated*: at least one violation.
5. *holds*: at least one row was examined.
6. No row was examined: *vacuous* if the run is whole. Otherwise *not applicable*, because the run ended too early.

A verdict *not applicable* has a reason. For the first three verdicts, rows examined and violations are 0.

A recording is *damaged* if it has facts of a task that `tasks` does not describe, or if its files do not match the
marker of their epoch. A damaged recording has no verdicts: reading it is an error.

**Rows.** A name in capital letters is the value of a column: a WATERMARK row of `sent` has the `kind` WATERMARK. The
timestamp of a STATUS row is the status; an IDLE row is a STATUS row with status IDLE. END_OF_DATA has the timestamp 1
with drain, and 0 without drain.

**Order.** The column `seq` gives the order inside a task. *Before*, *after*, *earlier*, *later*, *first*, *last* and
*next* mean this order. The column `position` gives the order on a channel. The *head* of a chain is its first operator
(`input_operator` -1).

**Counting.** "1 for each X" means: each X is one violation. If a list of conditions makes a row a violation, one true
condition is enough. The row counts once for the list, even if several are true. *Missing* and *unexpected* rows are
counted as multisets: with E the expected and A the actual multiset, missing = |E - A| and unexpected = |A - E|. So one
firing with wrong contents counts 2.

**Numbers.** `MIN` is -2^63 (no watermark yet), `MAX` is 2^63-1. Arithmetic on timestamps is exact, and a sum above
`MAX` is `MAX` (rule 10.8). Where the text says *Java long*, the result overflows as in Java. The *milliseconds* of
`time_ns` are rounded down.
"""


def laws_page() -> str:
    """The text of the page: the laws in the order of reports, what a family has in common before its first law."""
    return "\n".join((_HEAD, *_sections()))


def _sections() -> Iterator[str]:
    for (title, terms), laws in groupby(LAWS, common_terms):
        if terms:
            yield f"## {title}\n{terms}\n"
        yield from map(_section, laws)


def _section(law: Law) -> str:
    columns = "; ".join(f"`{table}` ({', '.join(columns)})" for table, columns in law.reads.items())
    return (
        f"## {law.id}\n{law.sentence}\n\n"
        f"Rules {', '.join(law.rules)}. Level {law.level.name.lower()}. Reads {columns}.\n\n"
        f"{law.counts.strip()}\n"
    )


if __name__ == "__main__":
    print(laws_page(), end="")
