"""Law key-routing: a keyed record goes to the owner of its key group."""

from __future__ import annotations

from flowsim.facts.kinds import ElementKind
from flowsim.laws.java_key import owner_subtask, recorded_key_hash
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Outcome
from tests.support.oracle.distribution import judge_channels
from tests.support.oracle.facts import Facts, Findings, not_applicable


def key_routing(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Re-derives hash code, key group and owner of every keyed record that was sent."""
    targets = {
        channel.channel: graph.tasks[channel.target_task]
        for channel in graph.channels.values()
        if graph.edges[channel.edge].partitioner == "HASH"
    }
    if not any(edge.partitioner == "HASH" for edge in graph.edges.values()):
        return not_applicable("key-routing", "the job has no keyed edge")
    keys = described_keys(facts)
    owners: dict[tuple[int, Task], int] = {}
    findings = Findings(0)
    judge_channels(findings, graph, {"HASH"})
    for seq, task, _, channel, position, kind, _, _, key_hash, key in facts.rows("sent"):
        if kind != ElementKind.RECORD or channel not in targets or graph.channels[channel].source_task != task:
            continue
        findings.rows_examined += 1
        target = targets[channel]
        owner = owners.get((key_hash, target))
        if owner is None:
            owner = owner_subtask(key_hash, target.parallelism, target.max_parallelism)
            owners[key_hash, target] = owner
        known = keys.get((task, key))
        if known is None:
            what = "the sender never described this key"
        elif known[0] != key_hash:
            what = "the row's hash code is not its key's"
        elif known[0] != known[1]:
            what = "the recorded hash code is not Java's"
        elif owner != target.subtask:
            what = "sent to a subtask that does not own the key group"
        else:
            continue
        findings.broken(
            what, task=task, seq=seq, channel=channel, position=position, key=known[2] if known else key,
            key_hash=key_hash, target=target.subtask, owner=owner,
        )  # fmt: skip
    return findings.outcome("key-routing")


def described_keys(facts: Facts) -> dict[tuple[int, int], tuple[int, int | None, str]]:
    """Per task and key: the hash code as recorded, as re-derived, and the key's text."""
    keys = {}
    for task, key, key_hash, key_type, key_json in facts.static_rows("keys"):
        derived = recorded_key_hash(str(key_type), str(key_json))
        keys[int(task), int(key)] = (int(key_hash), derived, str(key_json))
    return keys
