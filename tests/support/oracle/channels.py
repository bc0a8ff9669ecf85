"""Law channel-fifo: elements arrive as they were sent."""

from __future__ import annotations

from flowsim.facts.kinds import ElementKind
from flowsim.laws.fewest_steps import MOST_STEPS
from flowsim.laws.job_graph import JobGraph
from flowsim.laws.law import Outcome
from tests.support.oracle.facts import Facts, Findings, not_applicable

_NO_CHANNELS = "the job has no channels"
Payload = tuple[int, int, int]
"""Kind, timestamp and fingerprint."""
Sequences = dict[int, list[tuple[int, Payload]]]
"""By channel positions and payloads."""


def channel_fifo(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Law channel-fifo: position by position, the receiver decoded what the sender put there."""
    if not graph.channels:
        return not_applicable("channel-fifo", _NO_CHANNELS)
    sent, received = ([row for row in facts.rows(table) if _is_live(row[4], row[5])] for table in ("sent", "received"))
    findings = Findings(len(sent) + len(received))
    compare_ends(findings, _sequences(sent), _sequences(received), whole)
    return findings.outcome("channel-fifo")


def _is_live(position: int, kind: int) -> bool:
    """Not restored, and no barrier that may overtake."""
    return position >= 0 and kind != ElementKind.UNALIGNED_BARRIER


def _sequences(rows: list[tuple[int, ...]]) -> Sequences:
    """By channel positions and payloads in the order of ``seq``; of two tasks on one channel, by position."""
    highest: dict[tuple[int, int], int] = {}
    placed: dict[int, list[tuple[int, int, int, int, Payload]]] = {}
    for seq, task, _, channel, position, kind, timestamp, fingerprint, *_ in sorted(rows, key=lambda row: row[0]):
        highest[task, channel] = place = max(position, highest.get((task, channel), position))
        placed.setdefault(channel, []).append((place, task, seq, position, (kind, timestamp, fingerprint)))
    return {channel: [(row[3], row[4]) for row in sorted(of_channel)] for channel, of_channel in placed.items()}


def compare_ends(findings: Findings, sent: Sequences, received: Sequences, whole: bool) -> None:
    """Per channel the fewest steps from what was sent to what was received; without any, positions must agree."""
    for channel in sorted({*sent, *received}):
        put, got = sent.get(channel, []), received.get(channel, [])
        for _ in range(steps_between([each for _, each in put], [each for _, each in got], whole)):
            findings.broken("an element was lost, added, changed or exchanged", channel=channel)
        if [each for _, each in put][: len(got)] == [each for _, each in got] and (len(put) == len(got) or not whole):
            positions = [at for at, _ in got]
            if positions != [at for at, _ in put][: len(got)] or positions != sorted(set(positions)):
                findings.broken("positions are wrong", channel=channel)


def steps_between(sent: list[Payload], received: list[Payload], whole: bool) -> int:
    """The fewest elements that are lost, added, changed, or exchanged with the next one; above ``MOST_STEPS``, different places.

    What is not received of a prefix may still be on its way.
    """
    first = 0
    while first < min(len(sent), len(received)) and sent[first] == received[first]:
        first += 1
    sent, received = sent[first:], received[first:]
    # Row by row (received): the steps that it takes to receive that from each beginning of what was sent.
    before: list[int] = []
    row = list(range(len(sent) + 1))
    for got, element in enumerate(received, 1):
        last, before, row = before, row, [got]
        for put, other in enumerate(sent, 1):
            steps = min(before[put] + 1, row[put - 1] + 1, before[put - 1] + (element != other))
            if last and put > 1 and element == sent[put - 2] and other == received[got - 2]:
                steps = min(steps, last[put - 2] + 1)
            row.append(steps)
    steps = row[-1] if whole else min(row)
    if steps <= MOST_STEPS:
        return steps
    missing = len(sent) - len(received)
    different = sum(each != other for each, other in zip(sent, received, strict=False))
    return different + (abs(missing) if whole or missing < 0 else 0)
