"""The effects of a batch on other tasks, and their order (decision D4)."""

from __future__ import annotations

from flowsim.network.outbox import Outbox


class Effect:
    """Notes its name when it takes effect."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name = name
        self.log = log

    def publish(self) -> None:
        self.log.append(self.name)


def test_publish_runs_effects_in_order_of_their_kind() -> None:
    outbox, log = Outbox(), list[str]()
    outbox.sealed = True
    outbox.hold_upstream(Effect("upstream", log))
    outbox.hold_local_channel(Effect("local channel", log))
    outbox.hold_priority_event(Effect("priority event", log))
    outbox.hold_reader(Effect("reader", log))
    outbox.hold_flush(Effect("flush", log))
    assert log == []
    outbox.publish()
    assert (outbox.sealed, log) == (False, ["flush", "reader", "priority event", "local channel", "upstream"])
    outbox.publish()
    assert len(log) == 5


def test_readers_and_local_channels_are_held_once_and_others_every_time() -> None:
    outbox, log = Outbox(), list[str]()
    effects = [Effect("first", log), Effect("second", log)]
    for effect in (*effects, *reversed(effects)):
        outbox.hold_reader(effect)
        outbox.hold_local_channel(effect)
    outbox.publish()
    assert log == ["first", "second"] * 2
    log.clear()
    for effect in (*effects, effects[0]):
        outbox.hold_flush(effect)
        outbox.hold_upstream(effect)
    outbox.publish()
    assert log == ["first", "second", "first"] * 2
