"""Who is idle says nothing, and is idle exactly when all it hears, or its strategy, is (rules 5.8, 8.4, 8.5, 8.16)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from flowsim.validation.checks.base import TASK, Check, added, examined, kept, needs_channels, tally
from flowsim.validation.checks.event_time_fold import COLUMNS, SCHEMA, Follower
from flowsim.validation.checks.event_time_rows import event_time_rows, sent_event_time
from flowsim.validation.checks.event_time_statuses import follow_statuses
from flowsim.validation.checks.streaming import fold_sorted
from flowsim.validation.recordings import Recordings


def _find(facts: Recordings) -> DataFrame:
    rows = event_time_rows(facts).select("run", "task", "whole", *COLUMNS)
    return fold_sorted(rows, TASK, "seq", follow_statuses, SCHEMA, Follower)


_violations = kept("idle", _find)


def _counts(facts: Recordings) -> DataFrame:
    merged = facts["generated_watermark"].where("split = -1")
    return tally(examined(sent_event_time(facts)), examined(merged), added(_violations(facts), F.lit(1)))


IDLE = Check("idle", needs_channels, _counts, _violations)
