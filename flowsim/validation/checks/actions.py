"""The actions of a task never overlap, except properly nested inside its own yield (rules 3.11, 3.21, 3.25)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from flowsim.validation.checks.actions_fold import COLUMNS, SCHEMA, fold_actions
from flowsim.validation.checks.base import TASK, Check, added, always, examined, kept, tally, whole
from flowsim.validation.checks.streaming import fold_sorted
from flowsim.validation.recordings import Recordings


def _find(facts: Recordings) -> DataFrame:
    rows = facts["actions"].withColumn("whole", whole(facts)).select(*COLUMNS)
    return fold_sorted(rows, TASK, "seq", fold_actions, SCHEMA)


_violations = kept("actions", _find)


def _counts(facts: Recordings) -> DataFrame:
    return tally(examined(facts["actions"]), added(_violations(facts), F.lit(1)))


ACTIONS = Check("actions", always, _counts, _violations)
