"""``flowsim why ... waiting``: what a task waits for, compared with the times, credits and queues of the run."""

from __future__ import annotations

from itertools import pairwise

import pytest

import flowsim
from flowsim.errors import BadInput
from flowsim.facts.kinds import BufferKind, BufferSide
from flowsim.history.channel_flow import flow_of
from flowsim.history.task_states import Doing, state_of, waits_of
from flowsim.units import NS_PER_MS
from flowsim.why.run_facts import RunFacts
from tests.unit.why.conftest import Ask, Recorded, text_of

STUCK = """\
flowsim: 1
name: stuck
settings: {record: full}
sources:
  readings: {script: {fields: {n: long}, subtasks: [[{record: [1]}, {record: [2]}, {record: [3]}]]}}
operators:
  asked:
    input: readings
    async: {mode: ordered, timeout: 100 ms, latency: 5 ms, silent: {when: n == 2}, add: {m: n}, on_timeout: nothing}
sinks: {out: {input: asked, collect: {}}}
"""
BLOCKED = ["06_one_slow_channel", "07_overdraft_by_fan_out", "14_timer_storm", "18_busy_is_not_idle"]


def facts_of(recorded: Recorded, scenario: str, *overrides: str) -> RunFacts:
    return RunFacts(flowsim.open_recording(recorded(scenario, *overrides)))


@pytest.mark.parametrize("scenario", BLOCKED)
def test_waits_for_output_last_as_long_as_the_task_measured(recorded: Recorded, scenario: str) -> None:
    """Table task_times is counted while the task runs, in ms per wait."""
    facts = facts_of(recorded, scenario)
    for task in facts.graph.tasks:
        measured = facts.rows("task_times", task).last()
        assert measured is not None
        waits = waits_of(facts, task)
        for kind, column in ((Doing.SOFT, "soft_backpressured_ns"), (Doing.HARD, "hard_backpressured_ns")):
            lasted = sum(end_ns - row["time_ns"] for row, end_ns in waits[kind])
            assert abs(lasted - measured[column]) <= NS_PER_MS * len(waits[kind])


@pytest.mark.parametrize("scenario", ["03_slow_sink_backpressure", "06_one_slow_channel"])
def test_credits_and_queue_are_those_of_the_recorded_buffers(recorded: Recorded, scenario: str) -> None:
    """A sent buffer states the credits that remain, a queued one the number of data buffers in the queue."""
    whole = facts_of(recorded, scenario)
    queued = sent = 0
    for channel in whole.graph.channels.values():
        rows = list(whole.rows("buffers", channel.source_task).equal(channel=channel.channel, kind=BufferKind.DATA))
        got = whole.rows("credits", channel.source_task).equal(channel=channel.channel)
        for row, following in list(pairwise(rows))[:60]:
            if row["time_ns"] == following["time_ns"]:
                continue
            flow = flow_of(whole.until(row["time_ns"]), channel)
            if row["side"] == BufferSide.QUEUED:
                assert flow.queued == row["backlog"]
                queued += 1
            elif row["side"] == BufferSide.SENT and row["time_ns"] not in set(got["time_ns"].tolist()):
                assert flow.credits == row["credits"]
                sent += 1
    assert queued > 20
    assert sent > 3


def test_state_is_that_of_the_wait_around_the_moment(recorded: Recorded) -> None:
    whole = facts_of(recorded, "06_one_slow_channel")
    for kind, waits in waits_of(whole, 0).items():
        for row, end_ns in waits[:20]:
            middle_ns = (row["time_ns"] + end_ns) // 2
            if end_ns - row["time_ns"] < 2:
                continue
            state = state_of(whole.until(middle_ns), 0)
            assert (state.doing, state.until_ns) == (kind, end_ns)


def test_back_pressure_leads_to_full_channel_missing_credits_and_bottleneck(ask: Ask) -> None:
    answer = ask("03_slow_sink_backpressure", "waiting")

    assert (
        answer.statement.text
        == "By share of the run, Sink: slow (1/1) comes first of 2 tasks: it was busy for 100% of it."
    )
    waits, pool, credits, sink = answer.causes
    assert waits.text.startswith("Source: numbers (1/1) waits for output between two elements")
    assert pool.text.endswith("Sink: slow (1/1) has 4 buffers of it, and the limit for one channel is 4.")
    assert credits.text.startswith("Source: numbers (1/1) has no credit of Sink: slow (1/1)")
    assert "It is the bottleneck" in sink.text
    assert "in the whole run it was busy for 50 us per record, for 20,000 records" in sink.details


BURSTS = """\
flowsim: 1
name: bursts
settings: {record: full, buffer_timeout: 0, segment_size: 64}
sources:
  events: {script: {fields: {n: long}, subtasks: [[BURSTS]]}}
operators:
  worked: {input: events, chaining: never, cost: 8 ms, map: {add: {m: n}}}
sinks: {out: {input: worked, collect: {}}}
""".replace("BURSTS", ", ".join([*["{record: [1]}"] * 9, "{sleep: 100 ms}"] * 10))
FEW_BUFFERS = (
    "settings.exclusive_buffers_per_channel=1", "settings.floating_buffers_per_gate=1",
    "settings.max_buffers_per_channel=2", "settings.budget_records=1",
)  # fmt: skip
"""With them the source waits for its output in each burst."""


@pytest.mark.parametrize(("overrides", "busy"), [((), "72%"), (FEW_BUFFERS, "70%")])
def test_tasks_are_ranked_by_share_and_not_by_the_longest_wait(
    recorded: Recorded, ask: Ask, overrides: tuple[str, ...], busy: str
) -> None:
    """The operator is busy for 72 ms per burst: longer than the source waits for its output, if it does."""
    answer = ask(BURSTS, "waiting", overrides=overrides)

    assert (
        answer.statement.text
        == f"By share of the run, worked (1/1) comes first of 3 tasks: it was busy for {busy} of it."
    )
    facts = facts_of(recorded, BURSTS, *overrides)
    for task, line in zip((1, 0), answer.statement.details, strict=False):
        times = facts.rows("task_times", task).last()
        assert times is not None
        waited_ns = times["soft_backpressured_ns"] + times["hard_backpressured_ns"]
        whole_ns = facts.end_ns - facts.start_ns
        for name, ns in (
            ("busy", times["busy_ns"]),
            ("back-pressured", waited_ns),
            ("waiting for input", times["idle_ns"]),
        ):
            assert (f"{name} {ns / whole_ns:.0%}" in line) is (round(ns / whole_ns, 2) > 0), line


def test_bottleneck_that_moves_has_a_moment_of_each_stretch(ask: Ask) -> None:
    moves, *chain = ask("48_moving_bottleneck", "waiting").causes
    assert moves.text.startswith("The bottleneck moves.")
    assert chain[-1].text.startswith("parsed (1/1) is busy")
    at_ms = [float(line.rpartition(" at ")[2].removesuffix(" ms")) for line in moves.details]
    for moment, name in zip(at_ms, ("parsed", "Sink: out"), strict=True):
        last = ask("48_moving_bottleneck", "waiting", "clicks", at_ms=moment).causes[-1]
        assert last.text.startswith(f"{name} (1/1) is busy")
        assert "It is the bottleneck" in last.text
    assert not any("moves" in cause.text for cause in ask("03_slow_sink_backpressure", "waiting").causes)


def test_task_that_waits_to_end_is_not_busy(ask: Ask) -> None:
    """Flink's gauges count as busy what is no wait for input or output."""
    (line,) = ask("34_barrier_held_up", "waiting", "Source: asks").statement.details
    assert line.startswith("in the whole run: busy 0%, waiting for input 4%")
    assert line.endswith(", waiting to end 96%")


def test_cost_of_a_record_leaves_out_restored_data(ask: Ask) -> None:
    """Each record costs 1 ms; no total has the time in which restored data were processed."""
    text = text_of(ask("40b_unaligned_under_back_pressure", "waiting"))
    assert "it was busy for 1 ms per record, for 617 records, besides 167 of restored in-flight data" in text


def test_job_without_load_says_so(ask: Ask) -> None:
    text = ask("16_two_watermarks", "waiting").statement.text
    assert text.startswith(
        "By share of the run, Source: payments (1/1) comes first of 4 tasks: it was waiting for input for"
    )
    assert text.endswith("No task was busy, back-pressured or waiting inside an element for 1% or more.")


def test_one_full_channel_blocks_the_others(ask: Ask) -> None:
    text = text_of(ask("06_one_slow_channel", "waiting", "clicks"))

    assert "per_user (4/4) has 4 buffers of it, and the limit for one channel is 4" in text
    assert "One channel at its limit blocks the task for all its channels." in text
    assert "channel #0 to per_user (1/4): 1 buffer in the sender's queue, 2 credits" in text


def test_idle_receiver_behind_blocked_sender_leads_to_the_channel_that_blocks_it(ask: Ask) -> None:
    text = text_of(ask("06_one_slow_channel", "waiting", "per_user (2/4)", at_ms=42))

    assert "wait in a buffer that is neither full nor flushed" in text
    assert "Source: clicks (1/1) waits for output" in text
    assert "per_user (4/4) is busy" in text


def test_overdraft_is_counted_inside_an_element(ask: Ask) -> None:
    text = text_of(ask("07_overdraft_by_fan_out", "waiting", "explode"))

    assert "10 of 10 and 5 of 5 overdraft buffers are in use" in text
    assert "it runs no mail until it gets a buffer. [5.33, 5.36, 5.42]" in text


def test_firing_timers_hold_up_records_and_mails(ask: Ask) -> None:
    text = text_of(ask("14_timer_storm", "waiting", "silent"))

    assert "one watermark, MAX (end of event time), makes 2,000 timers due" in text
    assert "[9.4, 3.11, 9.18]" in text


def test_full_async_queue_names_the_call_that_it_waits_for(ask: Ask) -> None:
    text = text_of(ask("25_async_capacity_one", "waiting", "words", at_ms=150))

    assert "The queue of words_asked is full: it holds 1 of at most 1 element." in text
    assert 'record ["a"] (timestamp 1 ms), called at 100.002 ms, result at 200.002 ms' in text
    assert "the task runs mails of priority 2 or above" in text


def test_snapshot_waits_for_the_end_of_the_action(ask: Ask) -> None:
    text = text_of(ask("28_async_two_designs", "waiting", "today_counted", at_ms=60))

    assert "1 mail waits in the mailbox of Source: today (1/1)" in text
    assert "a snapshot of Source: today (1/1) for checkpoint 1, requested at 50 ms, taken at 100.004 ms" in text


def test_legacy_design_waits_for_a_place_and_not_between_actions(ask: Ask) -> None:
    overrides = ("sources.before.legacy=false", "operators.before_counted.chaining=head")
    text = text_of(ask("28_async_two_designs", "waiting", "before_counted", overrides=overrides))

    assert "waits inside an element, without the checkpoint lock from 10 us" in text
    assert "[11.31]" in text


def test_paused_source_leads_to_source_that_is_behind(ask: Ask) -> None:
    text = text_of(ask("22_watermark_alignment", "waiting", "archive", at_ms=2500))

    assert "the watermark that it compared was 7,198 ms, above the limit of 6,989 ms" in text
    assert "Source: live (1/1) had this watermark since 2 s" in text
    assert "Source: live (1/1): watermark 2,389 ms" in text


def test_operator_that_selects_an_input_leaves_the_other_one_unread(ask: Ask) -> None:
    text = text_of(ask("10_union_or_two_inputs", "waiting", "priced", at_ms=21))

    assert (
        "2 elements of Source: orders (1/1) wait in buffers of priced (1/1), but the operator does not select" in text
    )
    assert "Source: rates (1/1) is a source and has no record to read" in text


def test_blocking_exchange_starts_when_the_producer_has_finished(ask: Ask) -> None:
    answer = ask("09_blocking_or_pipelined", "waiting", "spilled", at_ms=50)

    assert answer.statement.text == "spilled (1/1) does not wait at 50 ms: it has not started."
    assert "reads a blocking exchange" in answer.causes[0].text


def test_task_with_ended_channels_waits_for_the_other(ask: Ask) -> None:
    text = text_of(ask("11a_silent_partition", "waiting", "counts", at_ms=9000))

    assert "2 channels of 3 of counts (1/1) have ended." in text
    assert "Source: empty (1/1) is a source and has no record to read" in text


def test_unflushed_buffer_names_the_time_at_which_it_is_sent(ask: Ask) -> None:
    text = text_of(ask("04_partial_buffers", "waiting", "usual_sink", at_ms=50))

    assert "5 elements of Source: ticks (1/1) wait in a buffer that is neither full nor flushed" in text
    assert "The buffer is sent at 100 ms. [5.3, 5.20, 5.22]" in text


def test_failed_task_does_not_wait(ask: Ask) -> None:
    answer = ask("26a_async_timeout_fails", "waiting", "asked", at_ms=200)

    assert answer.statement.text == "Source: asks (1/1) does not wait at 200 ms: it has failed."


def test_recording_of_level_elements_names_the_level_that_is_needed(ask: Ask) -> None:
    answer = ask("04_partial_buffers", "waiting", "usual_sink", overrides=("settings.record=elements",))

    assert "waiting for input 100%" in answer.statement.text
    assert "needs --record full" in answer.notes[0]


LATE = """\
flowsim: 1
name: late
settings: {record: full}
sources:
  readings: {script: {fields: {n: long}, subtasks: [[{record: [1]}, {record: [2]}, {sleep: 400 ms}]]}}
operators:
  asked:
    input: readings
    async: {mode: ordered, timeout: 100 ms, latency: 300 ms, add: {m: n}, on_timeout: nothing}
sinks: {out: {input: asked, collect: {}}}
"""


def test_timeout_without_an_outcome_is_named_beside_the_open_call(ask: Ask) -> None:
    """Rule 11.17: a timeout that does nothing leaves the element in the queue."""
    text = text_of(ask(LATE, "waiting", at_ms=200))
    called = "called at 2 us, timed out at 101.002 ms without an outcome, result at 300.002 ms"
    assert f"element 0: record [1], {called}" in text
    assert "The timeout of 2 elements of asked has passed, the first one at 101.002 ms" in text
    assert "timeout at 101.002 ms" in text_of(ask(LATE, "waiting", at_ms=50))


def test_name_of_several_subtasks_is_refused(ask: Ask) -> None:
    with pytest.raises(BadInput, match=r"'per_user' has 4 subtasks: ask about one of per_user \(1/4\)"):
        ask("06_one_slow_channel", "waiting", "per_user")


def test_task_is_found_by_the_name_that_answers_print(ask: Ask) -> None:
    answer = ask("18_busy_is_not_idle", "waiting", "counts (1/1)", at_ms=475)

    assert answer.statement.text == "counts (1/1) does not wait at 475 ms: it is busy."


def test_idle_timeout_does_not_run_while_a_source_waits_for_output(ask: Ask) -> None:
    text = text_of(ask("18_busy_is_not_idle", "waiting", "busy"))

    assert "The idle timeout of Source: busy, 300 ms, does not run meanwhile" in text


def test_deadlocked_job_names_the_element_that_it_waits_for(ask: Ask) -> None:
    answer = ask(STUCK, "waiting")

    assert "element 1: record [2], called at 4 us, timeout at 101.004 ms" in text_of(answer)
    assert "the job deadlocked at 101.004 ms: no task of it could run" in answer.notes
    assert "The job failed: Deadlock" in text_of(ask(STUCK, "no-output"))
