"""Keyed aggregations equal a fold over the records of a key; expired state is not returned; broadcast state is equal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsim.datastream import BroadcastProcessFunction, RuntimeContext, StreamExecutionEnvironment
from flowsim.datastream.common import Types
from flowsim.datastream.common.time import Duration
from flowsim.datastream.state import MapStateDescriptor, StateTtlConfig
from flowsim.operators.functions.broadcast_contexts import BroadcastContext, ReadOnlyBroadcastContext
from flowsim.state.descriptors import ListStateDescriptor, ValueStateDescriptor
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.keyed_state import KeyedStateBackend
from tests.support.examples import examples

pytestmark = pytest.mark.property

Record = tuple[str, int, int]
"""Key, value, and a number that tells records apart."""

records = st.lists(st.tuples(st.sampled_from("abc"), st.integers(-5, 5)), max_size=30).map(
    lambda pairs: [(key, value, number) for number, (key, value) in enumerate(pairs)]
)
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


def expected(how: str, seen: list[Record]) -> Record:
    """The aggregation of all records of one key so far, as a batch job would write it."""
    key, _, number = seen[0]
    values = [value for _, value, _ in seen]
    match how:
        case "sum":
            return key, sum(values), number
        case "min":
            return key, min(values), number
        case "max":
            return key, max(values), number
        case "min_by":
            return min(seen, key=lambda record: record[1])
        case _:
            return max(seen, key=lambda record: record[1])


@settings(max_examples=examples(25), deadline=None)
@given(records, st.sampled_from(["sum", "min", "max", "min_by", "max_by"]), st.integers(1, 3))
def test_keyed_aggregation_equals_batch_results(some: list[Record], how: str, parallelism: int) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    source = env.from_collection(some)
    env.set_parallelism(parallelism)
    found = list(getattr(source.key_by(lambda record: record[0]), how)(1).execute_and_collect())
    for key in "abc":
        of_key = [record for record in some if record[0] == key]
        assert [result for result in found if result[0] == key] == [
            expected(how, of_key[: count + 1]) for count in range(len(of_key))
        ]


steps = st.lists(
    st.tuples(st.sampled_from(["write", "add", "read", "wait"]), st.sampled_from("ab"), st.integers(0, 12)), max_size=60
)


@settings(max_examples=examples(60), deadline=None)
@given(steps, st.integers(1, 20), st.booleans(), st.booleans())
def test_expired_state_is_never_returned(
    some: list[tuple[str, str, int]], ttl_ms: int, renewed_by_reads: bool, in_background: bool
) -> None:
    now = 1
    backend = KeyedStateBackend(KeyGroupRange(0, 127), 128, None, lambda: now)
    builder = StateTtlConfig.new_builder(Duration.of_millis(ttl_ms)).never_return_expired()
    if renewed_by_reads:
        builder.update_ttl_on_read_and_write()
    if not in_background:
        builder.disable_cleanup_in_background()
    written, added = ValueStateDescriptor("written", Types.LONG()), ListStateDescriptor("added", Types.LONG())
    for descriptor in (written, added):
        descriptor.enable_time_to_live(builder.build())
    value, elements = backend.store().get_state(written), backend.store().get_list_state(added)
    alive: dict[str, tuple[int, int]] = {}
    alive_elements: dict[str, list[tuple[int, int]]] = {"a": [], "b": []}
    for step, key, number in some:
        backend.set_current_key(key)
        if step == "wait":
            now += number
        elif step == "write":
            value.update(number)
            alive[key] = (number, now)
        elif step == "add":
            elements.add(number)
            alive_elements[key].append((number, now))
        else:
            held = alive.get(key)
            lives = held is not None and held[1] + ttl_ms > now
            assert value.value() == (held[0] if held is not None and lives else None)
            left = [(one, touched) for one, touched in alive_elements[key] if touched + ttl_ms > now]
            assert elements.get() == [one for one, _ in left]
            if renewed_by_reads:
                alive_elements[key] = [(one, now) for one, _ in left]
                if held is not None and lives:
                    alive[key] = (held[0], now)
        backend.validate()


class AppliesChanges(BroadcastProcessFunction):
    """Applies the given changes to broadcast state, and emits all of it after every change."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: object, ctx: ReadOnlyBroadcastContext) -> None:
        ctx.get_broadcast_state(RULES).items()

    def process_broadcast_element(self, value: Any, ctx: BroadcastContext) -> Iterable[object]:
        rules = ctx.get_broadcast_state(RULES)
        name, number = value
        if number is None:
            rules.remove(name)
        else:
            rules.put(name, number)
        yield self.subtask, rules.items()


changes = st.lists(st.tuples(st.text("abxyz", min_size=1, max_size=2), st.none() | st.integers(0, 9)), max_size=25)


@settings(max_examples=examples(20), deadline=None)
@given(changes, st.integers(2, 4))
def test_subtasks_have_equal_broadcast_state_after_equal_changes(
    some: list[tuple[str, int | None]], parallelism: int
) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    rules = env.from_collection(some).broadcast(RULES)
    env.set_parallelism(parallelism)
    shown = list(env.from_collection([1, 2, 3]).connect(rules).process(AppliesChanges()).execute_and_collect())
    histories = [[items for subtask, items in shown if subtask == index] for index in range(parallelism)]
    assert all(history == histories[0] for history in histories)
    assert len(histories[0]) == len(some)
    model: dict[str, int] = {}
    for name, number in some:
        model.pop(name, None) if number is None else model.update({name: number})
    assert not some or dict(histories[0][-1]) == model
