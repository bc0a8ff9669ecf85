"""The strategies: what they draw, and to what they shrink."""

from __future__ import annotations

import pytest
from hypothesis import find, given
from hypothesis import strategies as st

from flowsim.connectors import script
from flowsim.connectors.script import RecordEntry, ScriptedSource, WatermarkEntry, record, watermark
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.errors import BadInput
from flowsim.testing import (
    FIFO,
    Schedule,
    assert_laws,
    event_streams,
    flat_records,
    job_settings,
    keys,
    policies,
    scalars,
    schedules,
    scripted_sources,
    seeds,
    timestamps,
    values,
)
from flowsim.values.closed_set import check, copy_value
from flowsim.values.row import Row


@given(values() | scalars() | flat_records() | flat_records(a=values(), b=scalars()))
def test_every_drawn_value_is_a_record_value(value: object) -> None:
    check(value)
    assert copy_value(value) == value


def test_flat_records_are_tuples_or_rows_of_given_fields() -> None:
    assert find(flat_records(keys(), timestamps()), lambda drawn: True) == ("a", 0)
    assert find(flat_records(key=keys(), at=timestamps()), lambda drawn: True) == Row.of(["a", 0], ["key", "at"])
    with pytest.raises(BadInput, match="got both"):
        flat_records(keys(), at=timestamps())


def test_keys_draws_from_a_small_set() -> None:
    assert [find(keys(3), lambda key, want=want: key == want) for want in "abc"] == ["a", "b", "c"]  # type: ignore[misc]
    with pytest.raises(BadInput, match="expected a count from 1 to 26, got 27"):
        keys(27)


@given(st.integers(0, 30).flatmap(lambda b: st.tuples(st.just(b), event_streams(max_out_of_orderness_ms=b))))
def test_event_is_never_later_than_bound(drawn: tuple[int, list[tuple[str, int, int]]]) -> None:
    bound_ms, events = drawn
    newest_ms = 0
    for key, number, at_ms in events:
        assert at_ms >= newest_ms - bound_ms
        assert key in ("a", "b", "c")
        assert 0 <= number <= 9
        newest_ms = max(newest_ms, at_ms)


@given(scripted_sources(max_subtasks=3, max_entries=12))
def test_scripted_watermarks_increase_and_scripts_are_bounded(source: ScriptedSource) -> None:
    assert 1 <= len(source.scripts) <= 3
    for entries in source.scripts:
        assert len(entries) <= 12
        rising = [entry.timestamp for entry in entries if isinstance(entry, WatermarkEntry)]
        assert rising == sorted(set(rising))


@given(scripted_sources())
def test_counterexample_repr_is_valid_code(source: ScriptedSource) -> None:
    again = eval(repr(source), vars(script))
    assert again.scripts == source.scripts
    assert again.gap_ms == source.gap_ms


def test_repr_of_script_has_steps() -> None:
    source = ScriptedSource(
        [script.idle(step=1), record("a", 5, step=2), script.sleep(3), script.end(step=4)], gap_ms=7
    )
    assert repr(source) == "ScriptedSource([idle(step=1), record('a', 5, step=2), sleep(3), end(step=4)], gap_ms=7)"


def late(source: ScriptedSource) -> bool:
    """Whether a record comes behind a watermark of its own subtask."""
    for entries in source.scripts:
        highest = -1000
        for entry in entries:
            if isinstance(entry, WatermarkEntry):
                highest = entry.timestamp
            elif isinstance(entry, RecordEntry) and (entry.timestamp or 0) <= highest:
                return True
    return False


def test_source_with_late_record_shrinks_to_watermark_and_record() -> None:
    assert repr(find(scripted_sources(), late)) == repr(ScriptedSource([watermark(0), record(("a", 0), 0)]))


def test_schedule_shrinks_to_fifo() -> None:
    assert find(schedules(), lambda schedule: True) == FIFO
    assert find(schedules(), lambda schedule: schedule.policy == "random") == Schedule("random", 0)
    assert find(policies(), lambda policy: True) == "fifo"
    assert find(seeds(), lambda seed: seed > 41) == 42


def test_settings_shrink_to_flinks_defaults() -> None:
    plain = StreamExecutionEnvironment.get_execution_environment().settings
    for name, value in find(job_settings(), lambda settings: True).items():
        assert getattr(plain, name) == value


@given(settings=job_settings(), schedule=schedules())
def test_job_runs_under_all_settings(settings: dict[str, int], schedule: Schedule) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().configure(**settings)
    env.from_collection(["longer than a segment of a few bytes"] * 5).rebalance().map(str.upper).rebalance().map(len)
    run = assert_laws(env, schedule=schedule, must_examine=["channel-fifo", "credits"])
    assert run.values() == [36] * 5
