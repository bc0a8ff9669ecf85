"""Law distribution: every partitioner in jobs that ran, and hand-made writers that violate it."""

from __future__ import annotations

from random import Random

import pytest

from flowsim.facts.kinds import ElementKind, Level, PoolKind, SegmentAction
from flowsim.graph.job_settings import AdaptivePartitionerSettings
from flowsim.graph.stream_graph import PartitionerSpec
from flowsim.laws.channels.distribution import LAWS
from flowsim.laws.channels.expansion import targets_of
from flowsim.laws.job_graph import Edge, Task, job_graph
from flowsim.laws.judge import check_all
from flowsim.laws.law import Outcome, Verdict
from flowsim.recording.memory import MemoryRecorder
from tests.support.facts.fact_builder import FactBuilder, recorded
from tests.support.facts.slicing import BuiltFacts, judged_in_slices
from tests.support.faults import Fault
from tests.support.jobs.small_jobs import SmallJob
from tests.support.oracle.distribution import distribution

NAMES = ("FORWARD", "GLOBAL", "CUSTOM", "REBALANCE", "RESCALE", "BROADCAST")
IN_TURN = ("REBALANCE", "RESCALE", "BROADCAST")
SPECS = {name: PartitionerSpec(name) for name in NAMES} | {
    "HASH": PartitionerSpec("HASH", lambda value: value),
    "SHUFFLE": PartitionerSpec("SHUFFLE"),
    "CUSTOM": PartitionerSpec(
        "CUSTOM", lambda value: value, partition=lambda key, channels: int(str(key)) ** 2 % channels
    ),
}


ADAPTIVE = ("REBALANCE adaptive(2)", "RESCALE adaptive(3)")


def run(
    name: str, sources: int, targets: int, level: Level = Level.ELEMENTS, faults: tuple[Fault, ...] = ()
) -> FactBuilder:
    """What a job with one such edge records."""
    partitioner, _, adaptive = name.partition(" adaptive")
    settings = AdaptivePartitionerSettings(int(adaptive[1:-1])) if adaptive else None
    job = SmallJob(segment_size_bytes=64, adaptive_partitioner=settings)
    job.sink(job.values(lambda _: range(20), sources), by=SPECS[partitioner], parallelism=targets, chain=False)
    recorder = MemoryRecorder(level)
    job.run(recorder=recorder, faults=faults)
    return recorded(recorder)


def sizes(name: str) -> list[tuple[int, int]]:
    """Parallelisms of the ends of an edge; Flink refuses a forward edge between different ones."""
    return [(1, 1), (4, 4)] if name == "FORWARD" else [(1, 1), (2, 5), (3, 2), (4, 4)]


def judge(facts: FactBuilder, status: str = "complete") -> Outcome:
    return next(outcome for outcome in check_all(BuiltFacts(facts), status) if outcome.law == "distribution")


@pytest.mark.parametrize(("name", "sources", "targets"), [(name, *size) for name in NAMES for size in sizes(name)])
def test_recorded_partitioner_satisfies_law(name: str, sources: int, targets: int) -> None:
    outcome = judge(run(name, sources, targets))
    assert (outcome.verdict, outcome.rows_examined) == (
        Verdict.HOLDS, 20 * sources * (targets if name == "BROADCAST" else 1),
    )  # fmt: skip


def of_writer(name: str, channels: list[int], **columns: list[int]) -> FactBuilder:
    """One writer to three readers, and the channels of its records."""
    facts = FactBuilder(Level.ELEMENTS)
    for task in range(4):
        facts.add("tasks", task=task, vertex=min(task, 1), subtask=max(task - 1, 0), parallelism=3 if task else 1)
    facts.add("edges", target_vertex=1, partitioner=name)
    for channel in range(3):
        facts.add("channels", channel=channel, subpartition=channel, target_task=1 + channel)
    for number, channel in enumerate(channels):
        about = {column: values[number] for column, values in columns.items()}
        facts.add("sent", channel=channel, kind=ElementKind.RECORD, **about)
    return facts


@pytest.mark.parametrize(
    ("name", "channels", "violations"),
    [
        ("GLOBAL", [0, 0, 1, 0], 1),
        ("FORWARD", [0, 0, 0], 2),
        ("FORWARD", [0, 2, 1], 4),
        ("REBALANCE", [2, 0, 1, 2, 0], 0),
        ("REBALANCE", [1, 2, 1, 2, 0], 1),
        ("REBALANCE", [1, 1, 1], 2),
        ("RESCALE", [1, 2, 0], 1),
        ("BROADCAST", [0, 1, 2, 0, 1, 2], 0),
        ("BROADCAST", [0, 1, 2, 0, 1], 1),
        ("BROADCAST", [0, 2, 0, 1, 2], 1),
        ("GLOBAL", [0, 7], 1),
    ],
)
def test_each_record_is_checked_against_the_previous_one(name: str, channels: list[int], violations: int) -> None:
    assert judge(of_writer(name, channels)).violations == violations


def test_broadcast_cut_off_in_prefix_does_not_violate() -> None:
    assert judge(of_writer("BROADCAST", [0, 1, 2, 0]), "failed").verdict is Verdict.HOLDS


def test_broadcast_of_different_records_violates() -> None:
    outcome = judge(of_writer("BROADCAST", [0, 1, 2, 0, 1, 2], fingerprint=[5, 5, 5, 6, 7, 7]))
    assert [(row["what"], row["channel"]) for row in outcome.evidence] == [("another record", 1)]


def test_custom_edge_is_checked_against_recorded_answer() -> None:
    outcome = judge(of_writer("CUSTOM", [0, 2, 1], key_hash=[0, 1, 1]))
    assert [(row["seq"], row["expected"], row["found"]) for row in outcome.evidence] == [(1, 1, 2)]


def test_custom_partitioner_answers_are_recorded() -> None:
    facts = run("CUSTOM", 1, 5)
    answers = [row["key_hash"] for row in facts.rows("sent", lambda row: row["kind"] == ElementKind.RECORD)]
    assert answers == [value * value % 5 for value in range(20)]


NO_SUCH, NO_CHANNEL = (
    "the partitioner of the edge has no such channel",
    "the edge has no channel to a subtask that its partitioner reaches",
)


@pytest.mark.parametrize("name", [*NAMES, "SHUFFLE", "HASH", *ADAPTIVE])
def test_edge_has_exactly_the_channels_of_its_partitioner(name: str) -> None:
    """Rules 1.14 to 1.17: one is missing, one leads to another subtask, one is there twice."""
    law = "key-routing" if name == "HASH" else "distribution"
    for sources, targets in sizes(name):
        for damage in ("removed", "another subtask", "another subpartition", "repeated"):
            facts = run(name, sources, targets)
            channels = facts.rows("channels")
            last = channels[-1]
            other = next((task for task in facts.rows("tasks") if task["vertex"] == 1), last)
            if damage == "removed":
                facts.remove("channels", last)
                expected = [NO_CHANNEL]
            elif damage == "repeated":
                facts.add("channels", **{**last, "channel": len(channels)})
                expected = [NO_SUCH]
            elif targets == 1:
                continue
            elif damage == "another subtask":
                last["target_task"] = other["task"]
                expected = [NO_SUCH, NO_CHANNEL]
            else:
                last["subpartition"] = (int(last["subpartition"]) + 1) % targets
                expected = [NO_SUCH, NO_CHANNEL]
            facts.facts = [(table, row) for table, row in facts.facts if table not in ("sent", "received")]
            (outcome,) = [each for each in check_all(BuiltFacts(facts), "failed") if each.law == law]
            assert sorted(str(row["what"]) for row in outcome.evidence) == sorted(expected), (name, damage)


@pytest.mark.parametrize(("sources", "targets"), [(1, 3), (3, 1), (2, 4), (4, 2), (2, 3)])
def test_forward_edge_between_different_parallelisms_violates(sources: int, targets: int) -> None:
    """Rules 1.1 and 1.2: even if every task sends all its records over its first channel."""
    facts = run("RESCALE", sources, targets)
    facts.rows("edges")[0]["partitioner"] = "FORWARD"
    first = {row["channel"]: row for row in facts.rows("channels")}
    for row in facts.rows("sent", lambda row: row["kind"] == ElementKind.RECORD):
        own = [channel for channel in first.values() if channel["source_task"] == row["task"]]
        row["channel"] = min(own, key=lambda channel: int(channel["subpartition"]))["channel"]
    assert judge(facts).verdict is Verdict.VIOLATED


def test_shuffled_edge_is_examined() -> None:
    for level in (Level.ELEMENTS, Level.FULL):
        outcome = judge(run("SHUFFLE", 2, 3, level))
        assert (outcome.verdict, outcome.rows_examined) == (Verdict.HOLDS, 40)


STEP, NEVER = (
    "the places of a random choice follow each other in always the same distance",
    "a random choice never selects a channel",
)


@pytest.mark.parametrize(
    ("channels", "broken"),
    [
        (Random(1).choices(range(3), k=300), []),
        ([0] * 64, []),
        ([0] * 65, [STEP]),
        ([0] * 193, [NEVER, STEP]),
        ([0, 1, 2] * 70, [STEP]),
        ([2, 1, 0] * 70, [STEP]),
        (Random(1).choices(range(2), k=192), []),
        (Random(1).choices(range(2), k=193), [NEVER]),
    ],
    ids=["random", "few", "one channel", "one channel of many records", "in turn", "backwards", "some", "two of three"],
)
def test_shuffled_records_have_no_pattern(channels: list[int], broken: list[str]) -> None:
    assert [row["what"] for row in judge(of_writer("SHUFFLE", channels)).evidence] == broken


def test_subtasks_of_pointwise_edge_are_rotated_in_their_group() -> None:
    """Rule 1.17: of 2 writers and 5 readers the second feeds 4 and 3, in this order."""
    task, edge = Task(1, 0, 0, "", 1, 2, 128, 0), Edge(0, 0, 0, 1, 0, "RESCALE", "", "", "")
    assert targets_of(task, edge, 5) == [4, 3]


@pytest.mark.parametrize("level", [Level.ELEMENTS, Level.FULL])
@pytest.mark.parametrize(("name", "sources", "targets"), [(name, *size) for name in ADAPTIVE for size in sizes(name)])
def test_adaptive_writers_satisfy_law(name: str, sources: int, targets: int, level: Level) -> None:
    facts = run(name, sources, targets, level)
    assert [row["partitioner"] for row in facts.rows("edges")] == [name if targets > 1 else name.partition(" ")[0]]
    outcome = judge(facts)
    assert (outcome.verdict, outcome.rows_examined) == (Verdict.HOLDS, 20 * sources), outcome.evidence


@pytest.mark.parametrize("name", ADAPTIVE)
@pytest.mark.parametrize("at", [0, 7, 15])
def test_adaptive_writer_that_skips_idlest_channel_is_seen(name: str, at: int) -> None:
    outcome = judge(run(name, 1, 4, Level.FULL, (Fault("rebalance_skips_channel", at=at),)))
    assert outcome.violations == 1
    assert outcome.evidence[0]["what"] == "the channel is not the idlest of those compared"
    assert judge(run(name, 1, 4, Level.FULL)).violations == 0


def test_adaptive_writer_without_comparisons_of_next_channels_is_seen() -> None:
    facts = run(ADAPTIVE[0], 1, 4, Level.FULL)
    compared = facts.rows("segments", lambda row: row["action"] == SegmentAction.COMPARED)
    facts.remove("segments", compared[9])
    outcome = judge(facts)
    assert outcome.violations == 1
    assert outcome.evidence[0]["what"] == "other channels were compared than the next ones"


@pytest.mark.parametrize("name", ADAPTIVE)
def test_damaged_adaptive_jobs_get_verdicts_of_oracle_for_any_slicing(name: str) -> None:
    columns = {"sent": ("channel", "task"), "segments": ("action", "subpartition", "step", "pool")}
    for number, (sources, targets) in enumerate(sizes(name) * 6):
        random = Random(number)
        facts = run(name, sources, targets, random.choice((Level.ELEMENTS, Level.FULL)))
        for _ in range(random.randrange(4)):
            table = random.choice(("sent", "segments") if facts.rows("segments") else ("sent",))
            row = random.choice(facts.rows(table))
            column = random.choice(columns[table])
            row[column] = random.randrange(sources if column == "task" else 1 + len(facts.rows("channels")))
        built = BuiltFacts(facts)
        expected = distribution(built, job_graph(built), True)
        for epochs in (1, 4):
            found = judged_in_slices(built, LAWS, "complete", epochs, number)["distribution"]
            assert (found.verdict.value, found.rows_examined, found.violations) == (
                expected.verdict.value, expected.rows_examined, expected.violations,
            ), found.evidence  # fmt: skip


@pytest.mark.parametrize(
    ("used", "in_queue", "compared", "idlest"),
    [
        ((2, 1, 1), (1, 9, 5), 3, 2),
        ((1, 2, 1), (7, 1, 7), 3, 0),
        ((3, 2, 2), (1, 4, 4), 3, 1),
        ((1, 0, 0), (7, 0, 0), 2, 1),
        ((1, 1, 1), (7, -8, 0), 3, 1),
    ],
    ids=["fewest bytes", "first of equals", "fewest segments", "first unused one", "a file of a blocking exchange"],
)
def test_adaptive_writer_must_select_idlest_of_compared_channels(
    used: tuple[int, ...], in_queue: tuple[int, ...], compared: int, idlest: int
) -> None:
    """Each channel had one segment more, which was recycled."""
    for selected in range(3):
        facts = of_writer("REBALANCE adaptive(4)", [])
        facts.level = Level.FULL
        facts.add("pools", kind=PoolKind.OUTPUT)
        for channel in range(3):
            for action in [SegmentAction.HANDED_OUT] * (used[channel] + 1) + [SegmentAction.RECYCLED]:
                facts.add("segments", action=action, subpartition=channel, step=-1)
        for channel in range(compared):
            facts.add("segments", action=SegmentAction.COMPARED, subpartition=channel, step=in_queue[channel])
        facts.add("sent", channel=selected, kind=ElementKind.RECORD)
        outcome = judge(facts)
        assert outcome.violations == (selected != idlest), outcome.evidence
        if selected != idlest:
            assert outcome.evidence[0]["expected"] == idlest


@pytest.mark.parametrize(
    ("channels", "violations"),
    [([0, 1, 2, 0], 0), ([1, 0, 2, 1], 0), ([2, 1, 0], 1), ([0, 0, 1], 1), ([1, 1, 0], 1)],
)
def test_adaptive_writer_at_level_elements_stays_within_compared_channels(channels: list[int], violations: int) -> None:
    assert judge(of_writer("REBALANCE adaptive(2)", channels)).violations == violations


@pytest.mark.parametrize("name", [*NAMES, "SHUFFLE"])
def test_damaged_jobs_get_verdicts_of_oracle_for_any_slicing(name: str) -> None:
    for number, (sources, targets) in enumerate(sizes(name) * 4):
        random, facts = Random(number), run(name, sources, targets)
        for _ in range(random.randrange(4)):
            row = random.choice(facts.rows("sent", lambda row: row["kind"] == ElementKind.RECORD))
            column = random.choice(("channel", "channel", "key_hash", "fingerprint", "task"))
            row[column] = random.randrange(sources if column == "task" else 1 + len(facts.rows("channels")))
        built, status = BuiltFacts(facts), random.choice(("complete", "failed"))
        expected = distribution(built, job_graph(built), status == "complete")
        for epochs in (1, 4):
            found = judged_in_slices(built, LAWS, status, epochs, number)["distribution"]
            assert (found.verdict.value, found.rows_examined, found.violations) == (
                expected.verdict.value, expected.rows_examined, expected.violations,
            ), found.evidence  # fmt: skip
