"""The records of a key in the channels of a task that has keys."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flowsim.facts.kinds import ElementKind
from flowsim.history.channel_flow import counted, flow_of
from flowsim.history.recorded_facts import RecordedFacts
from flowsim.history.rows import Row, Rows
from flowsim.laws.job_graph import Channel


@dataclass(frozen=True, slots=True)
class KeyRecords:
    """The records of a key that its senders sent to one task; rows of ``sent``. ``under_way``: not read yet."""

    arrived: list[Row]
    under_way: list[tuple[Channel, Row]]


def key_records(facts: RecordedFacts, task: int, keys: frozenset[int]) -> KeyRecords:
    """The records of a key in the channels of a task."""
    arrived, under_way = list[Row](), list[tuple[Channel, Row]]()
    for channel in facts.received_by(task):
        if facts.graph.edges[channel.edge].partitioner != "HASH":
            continue
        sent = counted(facts.rows("sent", channel.source_task).equal(channel=channel.channel))
        read = flow_of(facts, channel).received
        for part, is_read in ((sent.cut(0, read), True), (sent.cut(read, len(sent)), False)):
            for row in _records_of(part, keys):
                if is_read:
                    arrived.append(row)
                else:
                    under_way.append((channel, row))
    return KeyRecords(arrived, under_way)


def _records_of(rows: Rows, keys: frozenset[int]) -> Rows:
    return rows.where((rows["kind"] == ElementKind.RECORD) & np.isin(rows["key"], sorted(keys)))
