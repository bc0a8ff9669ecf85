"""Every command of docs/why.md gives the answer that its row promises."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.unit.why.conftest import SCENARIOS, Ask, Recorded, text_of

PAGE = Path(__file__).parents[3] / "docs" / "why.md"
ROW = re.compile(
    r"\| ([^|]+) \| (\w+)(?: --from-savepoint out/(\S+))?((?: --set \S+)*) \| `flowsim why out/(\w+) ([^`]+)` \|"
)

PARTS = {
    """12_three_lateness_settings late '["a",4]'""": [
        "is late at strict (1/1)", "window [0, 10)", "itself emitted watermark 11 ms", "[10.8, 10.9]",
    ],
    """12_three_lateness_settings late '["a",3]'""": ["is not late", "a window was still open", "reaches 9 ms"],
    "16_two_watermarks late": ["channel #1 from Source: payments (1/1)", "idle from 60 ms", "[8.11, 8.16]"],
    """23_splits_of_one_subtask late '[5,"slow"]'""": ["is late at blind_seen", "a bound of at least 31 ms", "[8.1]"],
    "03_slow_sink_backpressure waiting": ["Sink: slow (1/1) is busy", "It is the bottleneck", "[3.28, 13.1]"],
    "03_slow_sink_backpressure waiting numbers --at 500ms": [
        "4 buffers in the sender's queue, 0 credits", "elements sent and not read", "the limit for one channel is 4",
    ],
    "41e_rows_lost_behind_interruptible_timers no-output out": [
        "dropped 835 records that came after the end of its data", "FLINK-39481", "9.18",
    ],
    "06_one_slow_channel waiting clicks": ["One channel at its limit blocks the task for all its channels", "[5.35"],
    "44a_rebalance_to_a_slow_subtask waiting requests": [
        "score (1/4) has 10 buffers of it", "One channel at its limit blocks the task for all its channels",
        "score (1/4) is busy",
    ],
    "06_one_slow_channel waiting 'per_user (2/4)' --at 42ms": ["Source: clicks (1/1) waits for output", "per_user (4/4) is busy"],
    "07_overdraft_by_fan_out waiting explode": ["5 of 5 overdraft buffers are in use", "5.42"],
    "04_partial_buffers waiting usual_sink --at 50ms": ["neither full nor flushed", "100 ms in the settings of the job", "5.3"],
    "14_timer_storm waiting silent --at 800ms": ["a timer never fires while a record is processed", "9.4"],
    "14_timer_storm waiting silent": ["makes 2,000 timers due", "Interruptible timers let mails in between", "9.18"],
    "28_async_two_designs waiting today_counted --at 60ms": ["1 mail waits in the mailbox", "a snapshot of", "3.25"],
    "25_async_capacity_one waiting words --at 150ms": ["The queue of words_asked is full", "so the task reads no input"],
    "26b_async_timeout_answers waiting asked": ["the thread itself calls the function, one record after the other"],
    "18_busy_is_not_idle waiting 'counts (1/1)' --at 475ms": ["3 operators in one thread", "busy for 50 ms per record"],
    "10_union_or_two_inputs waiting priced --at 21ms": ["the operator does not select this input", "7.24"],
    "11a_silent_partition waiting counts --at 9s": ["2 channels of 3 of counts (1/1) have ended", "7.7"],
    "22_watermark_alignment waiting archive --at 2500ms": ["Source: live (1/1): watermark 2,389 ms", "8.23"],
    "09_blocking_or_pipelined waiting spilled --at 50ms": ["it has not started", "reads a blocking exchange", "5.43"],
    "11a_silent_partition no-output '[0, 500)' a": ["holds it back with no watermark yet", "no idle timeout is set", "[8.4]"],
    "11a_silent_partition no-output --at 5s": ["no row by 5 s", "none has come so far", "[8.1]"],
    "17_idleness_makes_no_watermark no-output '[1000, 2000)' --at 20s": ["Idleness creates no watermark", "8.10"],
    "18_busy_is_not_idle waiting busy": ["The idle timeout of Source: busy, 300 ms, does not run meanwhile", "[8.4]"],
    "08b_stop_without_drain no-output": ["ended its data without drain", "A stop without drain reached", "[4.20]"],
    "08a_stop_with_drain no-output '[2000, 3000)'": ["has fired at per_second (1/1)", "at watermark MAX (end of event time)"],
    "19_processing_time_windows_vanish no-output clock": ["It fires by the clock", "that are not due are dropped", "3.27"],
    "14_timer_storm no-output --at 1.5ms": ["when the watermark of the operator reaches it, not when the clock does", "9.4"],
    "14_timer_storm timer silent 7 --at 1.5ms": [
        "is registered and has not fired by 1.5 ms", "Record [7,0] (timestamp 0 ms) registered it at", "[9.4, 9.7]",
    ],
    "14_timer_storm timer 7": [
        "Event-time timer 60,000 ms of key 7 at silent (1/1) fired at", "other event-time timers fired between",
    ],
    "12_three_lateness_settings fired '[0, 10)'": [
        "fired 2 times (9 us, 11 us) at forgiving", "within the allowed lateness of 5 ms", "[10.12, 10.17]",
    ],
    "42b_late_after_unaligned_restore fired": [
        "Attempt 1 restored checkpoint 1", "so the record was not late and opened the window again", "[9.16, 10.9]",
    ],
    "13_sessions_merge deleted '[0, 10)' ann": ["was merged into window [0, 24)", 'Record ["ann","item"]', "10.26"],
    "13_sessions_merge deleted ann @9": ["was deleted at", "so its timers were deleted", "[10.26, 10.27]"],
    "19_processing_time_windows_vanish ignored": [
        "was dropped when its operator ended", "processing-time timers that have not fired are dropped", "[3.27, 4.12]",
    ],
    "12_three_lateness_settings --set settings.record_state=true state forgiving '[10, 20)'": [
        "are empty: the callback of event-time timer 24 ms", "[10.13, 10.16]",
    ],
    "20_few_keys no-output 'counts (7/8)'": ["it owns the key groups 96 to 111 of 128", "1.19"],
    "21_ends_while_idle no-output quiet_out": ["An idle output drops watermarks", "5.8"],
    "16_two_watermarks no-output '[10, 20)' --at 55ms": ["Channel #1 from Source: payments (1/1) holds it back", "8.16"],
    "18_busy_is_not_idle no-output late": ["none of the 400 records of counts was late"],
    "26a_async_timeout_fails no-output": ["The job failed in", "record [2]", "4.24"],
    '''24_async_order order '["a",1,90]' '["a",2,20]\'''': ["and after it at unordered (1/1)", "mode ordered", "11.11"],
    '''24_async_order order '["a",1,90]' '["a",3,5]' --task unordered''': ["no result passes a watermark", "11.8"],
    '''29_rebalance_loses_order order '["a",1]' '["a",2]\'''': ["Both have key \"a\", but the order of a key", "I2.d"],
    "44b_adaptive_rebalance order '[1]' '[2]'": ["partitioner: REBALANCE adaptive(4)", "2.4"],
    '''29_rebalance_loses_order order '["a",5]' '["a",6]\'''': ["partitioner: REBALANCE", "and after it at latest (1/1)"],
    '''30_broadcast_order order '[1,"old"]' '[1,"new"]\'''': ["applied (2/2), and after it at Sink: applied (1/2)", "7.3"],
    '''10_union_or_two_inputs order '["EUR",1]' '["USD",110]\'''': ["priced selects its inputs (reading: second)", "7.24"],
    '''31_gap_between_windows late '["a",2]\'''': ["but no window contains it", "10.4"],
    "03_slow_sink_backpressure --set sinks.slow.chaining=always waiting numbers --at 500ms": [
        "does not wait at 500 ms: it is busy", "3 operators in one thread, one after the other",
    ],
    "40b_unaligned_under_back_pressure --set operators.slow.partition=rescale aligned 'priced -> slow' 1": [
        "is aligned in checkpoint 1 by force", "its partitioner RESCALE does not support them", "waited", "[12.19]",
    ],
    "40b_unaligned_under_back_pressure aligned 'priced -> slow' 1": [
        "is not aligned in checkpoint 1: its barriers overtook", "on 4 channels of 4", "[12.18]",
    ],
    "33_aligned_checkpoint_under_skew aligned 'Source: busy -> merged' 1": [
        "is aligned in checkpoint 1: its barriers overtake nothing", "unaligned checkpoints are not enabled",
        "merged (1/1) had its first barrier at 546.109 ms, and the last one 293.9 ms later", "[12.47]",
    ],
    "33_aligned_checkpoint_under_skew checkpoint 1": [
        "when merged (1/1) had not read 1,349 elements before it", "merged (1/1) was busy 100%",
        "a start delay of 46 ms, from the trigger to its first barrier, and an alignment of 293.9 ms", "[12.142]",
    ],
    "41d_unaligned_behind_timers checkpoint 1": [
        "its barrier was in channel #0 from Source: machines (1/1) to silent (1/1)", "makes 2,000 timers due",
        "Interruptible timers let mails in between", "9.18",
    ],
    "34_barrier_held_up checkpoint 1 --task asked": [
        "asked (1/1) acknowledged checkpoint 1 375 ms after its trigger", "The queue of asked is full",
        "the task runs mails of priority", "11.1",
    ],
    "41a_unaligned_behind_a_big_record checkpoint 1": [
        "The barrier overtook all of them", "It handles a barrier only between two elements", "inside an element",
    ],
    "41b_unaligned_behind_an_explosion checkpoint 1": [
        "explode (1/1) was back-pressured 100%, and read 0 records", "It handles a barrier only between two elements",
    ],
    "41c_unaligned_before_a_full_queue checkpoint 1": ["The queue of asked is full", "[12.18, 12.91]"],
    "36_source_finished_before_checkpoint checkpoint 5": [
        "1 task had finished before: a checkpoint goes on without them", "12.35",
    ],
    "39_at_least_once_mode checkpoint 1": ["no channel waits. It read 37 records behind the barrier", "[12.16]"],
    "37a_stop_with_savepoint_drain fired '[2000, 3000)'": ["the watermark, MAX (end of event time), reached 2,999 ms"],
    "37b_stop_with_savepoint_no_drain no-output '[2000, 3000)'": ["A stop without drain reached", "[4.20]"],
    "26a_async_timeout_fails failed": [
        "The cause is ElementFailed in asked, while it processed record (2,)", "every failure is final", "[12.129]",
    ],
    "40a_aligned_under_back_pressure restart": [
        "Pipelined exchanges connect these tasks with slow (1/2)", "allows 1 restart", "are read again", "12.28",
    ],
    "40b_unaligned_under_back_pressure restart": [
        "The checkpoint contains 538 elements that its barriers overtook", "250 records were read after the snapshots", "12.92",
    ],
    "35_async_elements_restored restart": ["7 elements in its queue when it took its snapshot: none is lost", "11.22"],
    "42b_late_after_unaligned_restore restart": [
        "The checkpoint contains 16 elements", "counts (1/1) starts without one", "[12.120, 10.8]",
    ],
    "38_delivery_of_sinks committed once": [
        "has committed 20 rows in 2 committables", "when attempt 1 was restored", "[12.133, 12.135]",
    ],
    "38_delivery_of_sinks committed repeated": ["24 rows in all", "they were visible already", "12.135"],
    "34_barrier_held_up committed slow_out '[0,0]'": ["is committed since 600.002 ms, with checkpoint 1", "[12.31, 12.50]"],
    "36_source_finished_before_checkpoint committed": [
        "has committed 53 rows in 11 committables", "The task waited for checkpoint 11 before it ended", "4.16",
    ],
    "43_rescaled_in_flight_data --set operators.slow.parallelism=3 --set actions=[] --set expect={} restart": [
        "slow (2/3): 84 elements of old channel Source: orders -> slow, subtask 1 to subtask 1; 92 elements of old channel",
        "so each record is processed once, by the owner of its key", "[12.102, 12.104]",
    ],
    "32_partition_with_lag --set operators.per_second.parallelism=3 --set expect={} restart": [
        "whatever the parallelism of the other run was", "owns the key groups 86 to 127", "12.23",
    ],
    "45_days_of_time_zones no-output '[1362787200000, 1362873600000)' --task shanghai": [
        "shanghai has no such window", "minus 28,800,000 ms (8 h 0 min 0 s)", "[2013-03-08 16:00, 2013-03-09 16:00)",
        "[10.1, 10.3]",
    ],
    "46a_session_merged_after_its_end --set operators.visits.window.allowed_lateness=0 --set actions=[] --set expect={} failed": [
        "should have been cleaned up already: the watermark is at 21 ms", "registered with a longer allowed lateness", "10.26",
    ],
    "46b_session_gap_of_one_ms failed": ["processing time is at 1001 ms", "a gap of at least 2 ms", "10.26"],
    "47a_output_behind_the_watermark late": ["is late at total (1/1)", "operators after it need an allowed lateness", "10.12"],
    "47a_output_behind_the_watermark late --task reminded": [
        "reminders (1/1) emitted the record as a result", "was due already when it was registered", "9.7",
    ],
    "47b_held_past_the_watermark late": [
        "The record is 50 ms behind the highest timestamp that stamped had seen", "a bound of at least 41 ms", "[8.1]",
    ],
    "48_moving_bottleneck waiting": [
        "The bottleneck moves", "from 0 ms to 500.711 ms: parsed (1/1)", "from 500.711 ms to 901.2798 ms: Sink: out (1/1)",
    ],
    "48_moving_bottleneck waiting --at 750ms": ["Sink: out (1/1) is busy", "It is the bottleneck"],
    "37a_stop_with_savepoint_drain aligned": ["savepoints always are", "[12.47]"],
}  # fmt: skip
"""The run and the question of each row, and parts of the answer."""
BEFORE = re.compile(r"\$ flowsim run scenarios/(\w+)\.yaml --out out/(\w+)((?: --set \S+| --set '[^']+')*)\n")
"""A run that others continue."""
Row = tuple[str, str, str, tuple[str, ...], str]


def rows() -> list[Row]:
    """Question, scenario, snapshot, overrides and arguments of each row."""
    found = []
    for question, scenario, snapshot, overrides, out, arguments in ROW.findall(PAGE.read_text()):
        assert out == scenario
        found.append((question, scenario, snapshot, overrides_of(overrides), arguments))
    return found


def overrides_of(text: str) -> tuple[str, ...]:
    return tuple(word for word in shlex.split(text) if word != "--set")


def runs_before() -> dict[str, tuple[str, ...]]:
    """The scenario and the overrides of the runs that others continue, by their directories."""
    return {out: (scenario, *overrides_of(given)) for scenario, out, given in BEFORE.findall(PAGE.read_text())}


ROWS = rows()


def named(row: Row) -> str:
    """The key of a row in ``PARTS``."""
    _, scenario, _, overrides, arguments = row
    return " ".join([scenario, *(f"--set {one}" for one in overrides), arguments])


def test_page_has_a_row_per_answer() -> None:
    assert len(ROWS) == PAGE.read_text().count("| `flowsim why")
    assert {named(row) for row in ROWS} == set(PARTS)


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_answer_of_row(ask: Ask, recorded: Recorded, row: Row) -> None:
    _, scenario, snapshot, overrides, arguments = row
    assert (SCENARIOS / f"{scenario}.yaml").exists()
    words, options = [], {}
    given = iter(shlex.split(arguments))
    for word in given:
        if word.startswith("--"):
            options[word] = next(given)
        else:
            words.append(word)
    at, folder, path = options.get("--at"), *snapshot.partition("/")[::2]

    answer = ask(
        scenario,
        *words,
        overrides=overrides,
        task=options.get("--task"),
        at_ms=None if at is None else ms(at),
        from_savepoint=recorded(*runs_before()[folder]) / path if snapshot else None,
    )

    assert any(cause.link(0) for cause in (answer.statement, *answer.causes))
    assert any(cause.rules for cause in (answer.statement, *answer.causes))
    text = text_of(answer)
    for part in PARTS[named(row)]:
        assert part in text, text


def ms(text: str) -> float:
    """The value of ``--at`` in ms."""
    number, unit = re.fullmatch(r"([0-9.]+)(ms|s)", text).groups()  # type: ignore[union-attr]
    return float(number) * (1000 if unit == "s" else 1)
