"""State with a time to live: visibility, renewal, cleanup and snapshots. Flink: TtlStateFactory."""

from __future__ import annotations

import pytest

from flowsim.datastream.common.time import Duration, Time
from flowsim.datastream.state import StateTtlConfig
from flowsim.errors import BadInput
from flowsim.state.descriptors import ListStateDescriptor, MapStateDescriptor, StateDescriptor, ValueStateDescriptor
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.keyed_state import KeyedStateBackend
from flowsim.state.state_ttl_config import TtlBuilder
from flowsim.state.ttl_decorator import TtlValue
from flowsim.values.types import Types

LONG, STRING = Types.LONG(), Types.STRING()


class Backend(KeyedStateBackend):
    """One with a clock that tests set, and a current key."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        super().__init__(KeyGroupRange(0, 127), 128, None, lambda: self.now)
        self.now = 100
        self.set_current_key("k")


@pytest.fixture
def backend() -> Backend:
    return Backend()


def ten_ms() -> TtlBuilder:
    return StateTtlConfig.new_builder(Duration.of_millis(10)).disable_cleanup_in_background()


def living(descriptor: StateDescriptor, builder: TtlBuilder) -> None:
    descriptor.enable_time_to_live(builder.build())


def counted(builder: TtlBuilder) -> ValueStateDescriptor:
    descriptor = ValueStateDescriptor("count", LONG)
    living(descriptor, builder)
    return descriptor


def test_value_expires_after_ttl_and_write_renews_it(backend: Backend) -> None:
    count = backend.store().get_state(counted(ten_ms()))
    count.update(1)
    backend.now = 109
    assert count.value() == 1
    count.update(2)
    backend.now = 118
    assert count.value() == 2
    backend.now = 119
    assert (count.value(), backend.key_groups()) == (None, [])


def test_read_renews_value_only_when_configured(backend: Backend) -> None:
    count = backend.store().get_state(counted(ten_ms().update_ttl_on_read_and_write()))
    count.update(1)
    for backend.now in (109, 118, 127):
        assert count.value() == 1
    backend.now = 137
    assert count.value() is None


def test_expired_value_may_be_returned_until_cleaned_up(backend: Backend) -> None:
    count = backend.store().get_state(counted(ten_ms().return_expired_if_not_cleaned_up()))
    count.update(1)
    backend.now = 500
    assert (count.value(), count.value()) == (1, None)


def test_disabled_ttl_keeps_values(backend: Backend) -> None:
    count = backend.store().get_state(counted(ten_ms().set_update_type(StateTtlConfig.UpdateType.Disabled)))
    count.update(1)
    backend.now = 10**9
    assert count.value() == 1


def test_list_elements_and_map_values_expire_separately(backend: Backend) -> None:
    seen, by_name = ListStateDescriptor("seen", LONG), MapStateDescriptor("by_name", STRING, LONG)
    living(seen, ten_ms())
    living(by_name, ten_ms())
    elements, entries = backend.store().get_list_state(seen), backend.store().get_map_state(by_name)
    elements.add(1)
    entries.put("a", 1)
    backend.now = 105
    elements.add(2)
    entries.put("b", 2)
    backend.now = 110
    assert (elements.get(), entries.items(), entries.contains("a")) == ([2], [("b", 2)], False)
    backend.now = 115
    assert (elements.get(), entries.get("b"), entries.is_empty()) == ([], None, True)


def test_read_renews_returned_list_elements_and_map_values(backend: Backend) -> None:
    seen, by_name = ListStateDescriptor("seen", LONG), MapStateDescriptor("by_name", STRING, LONG)
    living(seen, ten_ms().update_ttl_on_read_and_write())
    living(by_name, ten_ms().update_ttl_on_read_and_write())
    elements, entries = backend.store().get_list_state(seen), backend.store().get_map_state(by_name)
    elements.add_all([1, 2])
    entries.put_all({"a": 1, "b": 2})
    for backend.now in (109, 118):
        assert (elements.get(), entries.get("a")) == ([1, 2], 1)
    assert entries.items() == [("a", 1)]


def test_access_to_one_key_cleans_up_others(backend: Backend) -> None:
    builder = StateTtlConfig.new_builder(Time.milliseconds(10)).cleanup_incrementally(1000, False)
    count = backend.store().get_state(counted(builder))
    count.update(1)
    groups = backend.key_groups()
    backend.now = 110
    backend.set_current_key("other")
    assert backend.key_groups() == groups
    count.value()
    assert backend.key_groups() == []


def test_every_record_cleans_up_when_configured(backend: Backend) -> None:
    reported = []
    backend.on_move_changed = lambda: reported.append("move with what set_current_key_and_id is now")
    count = backend.store().get_state(counted(ten_ms().cleanup_incrementally(1000, True)))
    count.update(1)
    backend.now = 110
    backend.set_current_key("other")
    assert (backend.key_groups(), len(reported)) == ([], 1)


def test_full_snapshot_cleanup_omits_expired_entries(backend: Backend) -> None:
    kept, cleaned = ListStateDescriptor("kept", LONG), ListStateDescriptor("cleaned", LONG)
    living(kept, ten_ms())
    living(cleaned, ten_ms().cleanup_full_snapshot())
    for descriptor in (kept, cleaned):
        backend.store().get_list_state(descriptor).add(1)
    backend.now = 105
    for descriptor in (kept, cleaned):
        backend.store().get_list_state(descriptor).add(2)
    backend.now = 112
    (group,) = backend.key_groups()
    assert [(entry.name, entry.content) for entry in backend.entries_of_key_group(group)] == [
        ("kept", [TtlValue(1, 100), TtlValue(2, 105)]),
        ("cleaned", [TtlValue(2, 105)]),
    ]


def test_configuration_getters_return_its_settings() -> None:
    config = StateTtlConfig.new_builder(Duration.of_seconds(1)).cleanup_in_rocksdb_compact_filter(7).build()
    cleanup = config.get_cleanup_strategies()
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnCreateAndWrite
    assert config.get_state_visibility() is StateTtlConfig.StateVisibility.NeverReturnExpired
    assert config.get_ttl_time_characteristic() is StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
    assert (config.get_ttl(), config.is_enabled()) == (Duration.of_seconds(1), True)
    assert (cleanup.is_cleanup_in_background(), cleanup.in_full_snapshot()) == (True, False)
    incremental = cleanup.get_incremental_cleanup_strategy()
    assert incremental is not None
    assert (incremental.get_cleanup_size(), incremental.run_cleanup_for_every_record) == (5, False)
    rocksdb = cleanup.get_rocksdb_compact_filter_cleanup_strategy()
    assert rocksdb is not None
    assert (rocksdb.get_query_time_after_num_entries(), rocksdb.get_periodic_compaction_time()) == (7, None)
    assert ten_ms().build().get_cleanup_strategies().get_incremental_cleanup_strategy() is None


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: StateTtlConfig.new_builder(Duration.of_millis(0)).build(), "expected at least 1 ms, got 0 ms"),
        (lambda: StateTtlConfig.new_builder(5).build(), "expected a length such as Duration.of_hours"),  # type: ignore[arg-type]
        (lambda: ten_ms().cleanup_incrementally(0, False), "cleanup_size: expected 1 or more, got 0"),
        (lambda: ten_ms().set_update_type("OnReadAndWrite"), "expected a TtlUpdateType"),  # type: ignore[arg-type]
        (lambda: ValueStateDescriptor("n", LONG).enable_time_to_live(10), "'n': enable_time_to_live: expected a State"),  # type: ignore[arg-type]
    ],
)
def test_invalid_configuration_is_refused(wrong: object, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        wrong()  # type: ignore[operator]


def test_state_without_key_is_refused_with_advice() -> None:
    state = KeyedStateBackend(KeyGroupRange(0, 127), 128).store().get_state(ValueStateDescriptor("count", LONG))
    for use in (state.value, state.clear, lambda: state.update(1)):
        with pytest.raises(BadInput, match="state 'count': no key is set"):
            use()  # type: ignore[operator]
