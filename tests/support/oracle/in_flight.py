"""Law in-flight: every data buffer arrives into reserved memory (I6.a)."""

from __future__ import annotations

from flowsim.facts.kinds import BufferKind, BufferSide, CreditKind
from flowsim.laws.job_graph import JobGraph
from tests.support.oracle.catalogue import Outcome
from tests.support.oracle.facts import Facts, Findings, not_applicable

_Step = tuple[int, int, int, int, int]
"""Sequence number, credits granted, data buffers received, whether a buffer arrived, the buffers still reserved then."""


def in_flight(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Adds up, at the receiver, what it granted and what came."""
    remote = {channel.channel for channel in graph.channels.values() if not channel.local}
    if not remote:
        return not_applicable("in-flight", "every channel is local: local channels have no credits")
    steps: dict[int, list[_Step]] = {}
    for seq, _, _, channel, kind, amount, _ in facts.rows("credits"):
        if channel in remote and kind in (CreditKind.INITIAL_GRANTED, CreditKind.ANNOUNCED):
            steps.setdefault(channel, []).append((seq, amount, 0, 0, 0))
    for seq, _, _, channel, side, _, kind, _, _, reserved, _ in facts.rows("buffers"):
        if channel in remote and side == BufferSide.RECEIVED:
            steps.setdefault(channel, []).append((seq, 0, int(kind == BufferKind.DATA), 1, reserved))
    findings = Findings(sum(map(len, steps.values())))
    _recycling(findings, facts, remote, whole)
    for channel in sorted(steps):
        open_credits = 0
        for seq, granted, data, arrived, reserved in sorted(steps[channel]):
            open_credits += granted - data
            if data and open_credits < 0:
                what = "arrives without credit"
            elif arrived and reserved != -1 and open_credits > reserved:
                what = "more credit is out than buffers are reserved"
            else:
                continue
            findings.broken(what, channel=channel, seq=seq, open_credits=open_credits, reserved=reserved)
    return findings.outcome("in-flight")


def _recycling(findings: Findings, facts: Facts, remote: set[int], whole: bool) -> None:
    """Every buffer that arrived is recycled once."""
    in_use: set[tuple[int, int]] = set()
    for seq, _, _, channel, side, number, kind, *_ in sorted(facts.rows("buffers"), key=lambda row: (row[1], row[0])):
        if channel not in remote:
            continue
        if side == BufferSide.RECEIVED and kind == BufferKind.DATA:
            in_use.add((channel, number))
        elif side == BufferSide.RECYCLED:
            findings.rows_examined += 1
            if (channel, number) not in in_use:
                findings.broken("recycled without being in use", channel=channel, seq=seq, number=number)
            in_use.discard((channel, number))
    for channel, number in sorted(in_use) if whole else ():
        findings.broken("never recycled", channel=channel, number=number)
