"""Law channel-fifo: elements arrive as they were sent."""

from __future__ import annotations

from collections.abc import Iterable

from flowsim.facts.kinds import ElementKind
from flowsim.laws.job_graph import JobGraph
from flowsim.laws.law import Outcome
from tests.support.oracle.facts import Facts, Findings, not_applicable

_NO_CHANNELS = "the job has no channels"
Position = tuple[int, int]
"""Channel and position."""
Payload = tuple[int, int, int]
"""Kind, timestamp and fingerprint."""


def _sent(facts: Facts) -> list[tuple[Position, Payload]]:
    return [
        ((channel, position), (kind, timestamp, fingerprint))
        for _, _, _, channel, position, kind, timestamp, fingerprint, _, _ in facts.rows("sent")
    ]


def _received(facts: Facts) -> list[tuple[Position, Payload]]:
    return [
        ((channel, position), (kind, timestamp, fingerprint))
        for _, _, _, channel, position, kind, timestamp, fingerprint, _ in facts.rows("received")
    ]


def channel_fifo(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Law channel-fifo: position by position, the receiver decoded what the sender put there."""
    if not graph.channels:
        return not_applicable("channel-fifo", _NO_CHANNELS)
    sent, received = (
        [(place, payload) for place, payload in rows if _is_live(place[1], payload[0])]
        for rows in (_sent(facts), _received(facts))
    )
    findings = Findings(len(sent) + len(received))
    for table in ("sent", "received"):
        rows = [row for row in facts.rows(table) if _is_live(row[4], row[5])]
        falling_behind(findings, [(row[1], row[0], row[3], row[4]) for row in rows])
    compare_ends(findings, sent, received, whole)
    return findings.outcome("channel-fifo")


def _is_live(position: int, kind: int) -> bool:
    """Not restored, and no barrier that may overtake."""
    return position >= 0 and kind != ElementKind.UNALIGNED_BARRIER


def falling_behind(findings: Findings, rows: Iterable[tuple[int, int, int, int]]) -> None:
    """Of rows (task, seq, channel, position), those whose position is below that of the one before on the channel."""
    before: dict[tuple[int, int], int] = {}
    for task, seq, channel, position in sorted(rows):
        if position < before.get((task, channel), position):
            findings.broken("out of order", task=task, seq=seq, channel=channel, position=position)
        before[task, channel] = position


def compare_ends(
    findings: Findings, sent: list[tuple[Position, Payload]], received: list[tuple[Position, Payload]], whole: bool
) -> None:
    """What was sent at a position is received there."""
    put, twice_sent = _by_position(sent)
    got, twice_received = _by_position(received)
    for place in sorted(put.keys() | got.keys()):
        before, after = put.get(place), got.get(place)
        if place in twice_sent or place in twice_received:
            what = "two elements at one position"
        elif before is None:
            what = "an element was received, but never sent"
        elif after is None:
            if not whole:
                continue
            what = "an element was sent, but never received"
        elif before != after:
            what = "the received element differs from the sent element"
        else:
            continue
        channel, position = place
        findings.broken(what, channel=channel, position=position, sent=before, received=after)


def _by_position(rows: list[tuple[Position, Payload]]) -> tuple[dict[Position, Payload], set[Position]]:
    by_position = dict(rows)
    if len(by_position) == len(rows):
        return by_position, set()
    seen: set[Position] = set()
    twice: set[Position] = set()
    for place, _ in rows:
        (twice if place in seen else seen).add(place)
    return by_position, twice
