"""Described operators with broadcast state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flowsim.datastream import BroadcastProcessFunction, DataStream, KeyedBroadcastProcessFunction, RuntimeContext
from flowsim.datastream.common import Types
from flowsim.datastream.state import MapStateDescriptor, ValueStateDescriptor
from tests.support.described.described_functions import SIDE, Event, follow_up, obey
from tests.support.described.described_streams import Inputs, Job, after

RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
TOTAL = ValueStateDescriptor("total", Types.LONG())


def build(inputs: Inputs, job: Job) -> dict[str, DataStream]:
    rules = inputs.plain(1).broadcast(RULES)
    if job["kind"] == "broadcast":
        made = inputs.exchanged(0).connect(rules).process(Looking())
        return {"out": after(made, job), "side": made.get_side_output(SIDE)}
    return {"out": after(inputs.keyed(0).connect(rules).process(KeyedLooking()), job)}


def ordered(rules: Any) -> dict[str, int]:
    return dict(sorted(rules.items()))


class Looking(BroadcastProcessFunction):
    def process_element(self, value: Event, ctx: Any) -> Iterable[object]:
        rules = ctx.get_broadcast_state(RULES)
        yield [value[0], ctx.timestamp(), ctx.current_watermark(), rules.get(value[1]), rules.contains("k0")]

    def process_broadcast_element(self, value: Event, ctx: Any) -> Iterable[object]:
        rules = ctx.get_broadcast_state(RULES)
        if value[2] % 4 == 0:
            rules.remove(value[1])
        else:
            rules.put(value[1], value[2])
        yield ["rules", value[0], ctx.timestamp(), ctx.current_watermark(), ordered(rules)]
        if value[0] % 2 == 0:
            ctx.output(SIDE, ["rules", value[0]])


class KeyedLooking(KeyedBroadcastProcessFunction):
    """Tells of the keys it has seen whenever a rule comes whose value is odd; timers may look up rules, too."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(TOTAL)

    def process_element(self, value: Event, ctx: Any) -> Iterable[object]:
        obey(value[3], ctx.timer_service())
        self.total.update((self.total.value() or 0) + value[2])
        rule = ctx.get_broadcast_state(RULES).get(value[1])
        key, now = ctx.get_current_key(), ctx.current_watermark()
        yield [value[0], key, ctx.timestamp(), now, rule, self.total.value()]

    def process_broadcast_element(self, value: Event, ctx: Any) -> Iterable[object]:
        rules = ctx.get_broadcast_state(RULES)
        rules.put(value[1], value[2])
        keys: list[list[object]] = []

        def report(key: object, state: Any) -> None:
            keys.append([key, state.value()])
            if state.value() % 5 == 0:
                state.clear()

        if value[2] % 2 != 0:
            ctx.apply_to_keyed_state(TOTAL, report)
        keys.sort(key=lambda entry: str(entry[0]))
        yield ["rules", value[0], ctx.current_watermark(), ordered(rules), keys]

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[object]:
        domain, rule = ctx.time_domain(), ctx.get_broadcast_state(RULES).get("k0")
        now = ctx.current_watermark()
        yield ["timer", ctx.get_current_key(), timestamp, domain.name, ctx.timestamp(), now, rule, self.total.value()]
        follow_up(timestamp, domain, ctx.timer_service())
