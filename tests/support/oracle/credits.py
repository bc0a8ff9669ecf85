"""Law credits: senders get the credits that receivers grant, and every data buffer costs one."""

from __future__ import annotations

from flowsim.facts.kinds import BufferKind, BufferSide, CreditKind
from flowsim.laws.job_graph import JobGraph
from tests.support.oracle.catalogue import Outcome
from tests.support.oracle.facts import Facts, Findings, not_applicable

_Step = tuple[int, int, int, str]
"""Sequence number, change of the balance, the balance as recorded, and what happened."""


def credits(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Adds up the credits of every remote channel and replays its sender's balance."""
    remote = {channel.channel for channel in graph.channels.values() if not channel.local}
    if not remote:
        return not_applicable("credits", "every channel is local: local channels have no credits")
    examined = 0
    sums: dict[tuple[int, int], int] = {}
    steps: dict[int, list[_Step]] = {}
    for seq, _, _, channel, kind, amount, balance in facts.rows("credits"):
        if channel in remote:
            examined += 1
            sums[channel, kind] = sums.get((channel, kind), 0) + max(amount, 0)
            if kind in (CreditKind.INITIAL_GOT, CreditKind.GOT, CreditKind.RESUMED):
                steps.setdefault(channel, []).append((seq, amount, balance, "got credits"))
    data: dict[tuple[int, int], int] = {}
    for seq, _, _, channel, side, _, kind, _, _, balance, _ in facts.rows("buffers"):
        if channel in remote and side in (BufferSide.SENT, BufferSide.RECEIVED):
            examined += 1
            costs = int(kind == BufferKind.DATA)
            data[channel, side] = data.get((channel, side), 0) + costs
            if side == BufferSide.SENT:
                steps.setdefault(channel, []).append((seq, -costs, balance, "sent data" if costs else "sent an event"))
    findings = Findings(examined)
    for channel in sorted(remote):
        _judge_sums(findings, channel, sums, data, whole)
        _replay(findings, channel, sorted(steps.get(channel, ())))
    return findings.outcome("credits")


def _judge_sums(
    findings: Findings, channel: int, sums: dict[tuple[int, int], int], data: dict[tuple[int, int], int], whole: bool
) -> None:
    granted, got = (sums.get((channel, kind), 0) for kind in (CreditKind.INITIAL_GRANTED, CreditKind.INITIAL_GOT))
    announced, added = (sums.get((channel, kind), 0) for kind in (CreditKind.ANNOUNCED, CreditKind.GOT))
    sent, received = (data.get((channel, side), 0) for side in (BufferSide.SENT, BufferSide.RECEIVED))
    for what, cause, effect in (
        ("initial credits: granted, got", granted, got),
        ("credits: announced, got", announced, added),
        ("data buffers: sent, received", sent, received),
    ):
        if effect > cause or (whole and effect != cause):
            findings.broken(what, channel=channel, before=cause, after=effect)


def _replay(findings: Findings, channel: int, steps: list[_Step]) -> None:
    balance = 0
    for seq, change, recorded, what in steps:
        balance += change
        if balance < 0:
            findings.broken(f"{what} without credit", channel=channel, seq=seq, balance=balance, recorded=recorded)
        elif balance != recorded:
            findings.broken(f"{what}: wrong balance", channel=channel, seq=seq, balance=balance, recorded=recorded)
