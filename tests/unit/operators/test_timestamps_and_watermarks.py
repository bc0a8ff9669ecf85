"""Timestamps and watermarks assigned behind a source (rules 8.1-8.7)."""

from __future__ import annotations

from typing import Literal

import pytest

from flowsim.errors import BadInput, MissingTimestamp
from flowsim.operators.timestamps_and_watermarks import TimestampsAndWatermarksOperator
from flowsim.streamrecord.elements import OutputTag, WatermarkStatus
from flowsim.testing.harness import OneInputOperatorHarness
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from flowsim.watermark.watermark_strategy import WatermarkStrategy

ACTIVE, IDLE = WatermarkStatus.ACTIVE, WatermarkStatus.IDLE


def harness_of(strategy: WatermarkStrategy, interval_ms: int = 200) -> OneInputOperatorHarness:
    return OneInputOperatorHarness(TimestampsAndWatermarksOperator(strategy, interval_ms))


def test_watermark_of_record_follows_it_and_only_increasing_ones() -> None:
    """Rules 8.3, 8.5: and only increasing ones pass."""
    with harness_of(WatermarkStrategy.for_each_record(5)) as harness:
        harness.process_elements([("a", 100), ("b", 98), ("c", 101)])
        assert harness.output == [("rec", "a", 100), ("wm", 94), ("rec", "b", 98), ("rec", "c", 101), ("wm", 95)]
        assert harness.processing_time.live_timers_ms() == []


def test_extractor_determines_timestamp() -> None:
    strategy = WatermarkStrategy.for_each_record(0).with_timestamp_assigner(lambda value, ts: int(str(value)) + ts % 10)
    with harness_of(strategy) as harness:
        harness.process_element(40, 3)
        assert harness.output == [("rec", 40, 43), ("wm", 42)]


def test_record_without_timestamp_gets_no_timestamp_value() -> None:
    """Rule 8.8."""
    with harness_of(WatermarkStrategy.no_watermarks()) as harness:
        harness.process_element("a", None)
        assert harness.output == [("rec", "a", NO_TIMESTAMP)]


def test_incoming_watermarks_and_statuses_are_swallowed_except_the_last() -> None:
    """Rule 8.7."""
    with harness_of(WatermarkStrategy.no_watermarks()) as harness:
        harness.process_watermark(500)
        harness.process_watermark_status(IDLE)
        assert harness.output == []
        harness.process_watermark(MAX_WATERMARK)
        assert harness.output == [("wm", MAX_WATERMARK)]


def test_periodic_timer_is_registered_from_time_of_each_run() -> None:
    """Rule 8.2: the next timer is asked for at the time of the run, plus the interval."""
    with harness_of(WatermarkStrategy.for_monotonous_timestamps()) as harness:
        harness.process_element("a", 10)
        assert harness.processing_time.live_timers_ms() == [201]
        harness.set_processing_time(200)
        assert harness.take_output() == [("rec", "a", 10)]
        harness.set_processing_time(250)
        assert harness.take_output() == [("wm", 9)]
        assert harness.processing_time.live_timers_ms() == [450]
        harness.set_processing_time(450)
        assert harness.take_output() == []


def test_interval_zero_emits_watermark_only_at_end() -> None:
    """Rules 8.2, 8.7: finish emits once more."""
    with harness_of(WatermarkStrategy.for_monotonous_timestamps(), interval_ms=0) as harness:
        harness.process_element("a", 10)
        assert harness.processing_time.live_timers_ms() == []
        harness.operator.finish()
        assert harness.output == [("rec", "a", 10), ("wm", 9)]


def test_periodic_timer_keeps_run_alive_only_with_pending_effect() -> None:
    """D4: a daemon timer, except while a watermark is unemitted or an idle countdown runs."""
    with harness_of(WatermarkStrategy.for_monotonous_timestamps()) as harness:
        assert not harness.processing_time.keeps_alive()
        harness.process_element("a", 10)
        assert harness.processing_time.keeps_alive()
        harness.set_processing_time(201)
        assert not harness.processing_time.keeps_alive()


def test_quiet_stream_becomes_idle_until_next_watermark() -> None:
    """Rule 8.4."""
    with harness_of(WatermarkStrategy.for_monotonous_timestamps().with_idleness(300)) as harness:
        harness.process_element("a", 10)
        for now_ms in (201, 401, 601, 801):
            harness.set_processing_time(now_ms)
        assert harness.take_output() == [("rec", "a", 10), ("wm", 9), ("st", IDLE)]
        assert not harness.processing_time.keeps_alive()
        harness.process_element("b", 20)
        assert harness.processing_time.keeps_alive()
        harness.set_processing_time(1001)
        assert harness.take_output() == [("rec", "b", 20), ("st", ACTIVE), ("wm", 19)]


def test_back_pressured_time_is_not_idle_time() -> None:
    """Rule 8.4: the task pauses the clock on which idleness is measured."""
    operator = TimestampsAndWatermarksOperator(WatermarkStrategy.no_watermarks().with_idleness(300))
    with OneInputOperatorHarness(operator) as harness:
        harness.set_processing_time(201)
        operator.input_activity_clock.pause()
        harness.set_processing_time(1001)
        assert harness.take_output() == []
        operator.input_activity_clock.un_pause()
        harness.set_processing_time(1201)
        harness.set_processing_time(1401)
        assert harness.take_output() == [("st", IDLE)]


def test_assigner_without_whole_milliseconds_is_refused_by_name() -> None:
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(lambda value, _: value)  # type: ignore[return-value, arg-type]
    with harness_of(strategy) as harness:
        for value in (1.5, "1", 2**63, True):
            with pytest.raises(BadInput, match="TimestampsAndWatermarksOperator: timestamp assigner: expected whole"):
                harness.process_element(value, 1)
        assert harness.output == []


def missing_if_none(policy: Literal["fail", "drop"] | OutputTag) -> WatermarkStrategy:
    """Reads the timestamp from the value, which may be None."""
    strategy = WatermarkStrategy.for_each_record(0).with_missing_timestamps(policy)
    return strategy.with_timestamp_assigner(lambda value, previous: value)  # type: ignore[arg-type, return-value]


def test_dropped_record_is_counted_and_does_not_advance_watermark() -> None:
    with harness_of(missing_if_none("drop")) as harness:
        harness.process_elements([(5, None), (None, None), (7, None)])
        assert harness.output == [("rec", 5, 5), ("wm", 4), ("rec", 7, 7), ("wm", 6)]
        assert (harness.operator.records_in, harness.operator.records_dropped) == (3, 1)


def test_record_for_side_output_keeps_its_earlier_timestamp() -> None:
    with harness_of(missing_if_none(OutputTag("bad"))) as harness:
        harness.process_elements([(None, 3), (None, None)])
        assert harness.output == [("side", "bad", None, 3), ("side", "bad", None, None)]
        assert harness.operator.records_dropped == 2


def test_missing_timestamp_fails_by_default() -> None:
    message = "timestamp assigner: the record has no timestamp$"
    with harness_of(missing_if_none("fail")) as harness, pytest.raises(MissingTimestamp, match=message):
        harness.process_element(None, 3)


@pytest.mark.parametrize("policy", ["fail", "drop"])
def test_invalid_timestamp_fails_with_every_policy(policy: Literal["fail", "drop"]) -> None:
    message = "expected whole milliseconds of 64 bits, got '5'"
    with harness_of(missing_if_none(policy)) as harness, pytest.raises(BadInput, match=message):
        harness.process_element("5", None)


def test_recordings_describe_policy_unless_job_fails() -> None:
    assert "missing_timestamp" not in missing_if_none("fail").params
    assert missing_if_none("drop").params["missing_timestamp"] == "drop"
    assert missing_if_none(OutputTag("bad")).params["missing_timestamp"] == "output"
