"""ChannelStatePersister equals the real one (rules 12.83, 12.86)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowsim.network.gates.channel_state_persister import ChannelStatePersister
from flowsim.state.redistribution.channel_state_handles import InputChannelInfo
from flowsim.streamrecord.checkpoint_exception import CheckpointException
from flowsim.streamrecord.events import CheckpointBarrier, EventAnnouncement
from tests.support.barriers import TIMEOUTABLE, UNALIGNED
from tests.support.flink.golden import cases


class Writer:
    def __init__(self) -> None:
        self.events: list[list[Any]] = []

    def add_input_data(self, checkpoint_id: int, channel: InputChannelInfo, payloads: Sequence[bytes]) -> None:
        self.events.append(["store", checkpoint_id, len(payloads)])


def play(persister: ChannelStatePersister, command: list[Any]) -> int | None:
    match command:
        case ["start", checkpoint, queued]:
            persister.start_persisting(checkpoint, [b"data"] * queued)
        case ["stop", checkpoint]:
            persister.stop_persisting(checkpoint)
        case ["data"]:
            persister.maybe_persist(b"data")
        case ["barrier", checkpoint]:
            return persister.check_for_barrier(CheckpointBarrier(checkpoint, 0, UNALIGNED))
        case ["announcement", checkpoint]:
            return persister.check_for_barrier(EventAnnouncement(CheckpointBarrier(checkpoint, 0, TIMEOUTABLE), 3))
    return None


def observed(persister: ChannelStatePersister, writer: Writer, command: list[Any]) -> dict[str, Any]:
    writer.events.clear()
    result, error = None, None
    try:
        result = play(persister, command)
    except CheckpointException as raised:
        error = ["CheckpointException", str(raised)[:120]]
    return {
        "events": list(writer.events),
        "ret": result,
        "err": error,
        "barrier_received": persister.has_barrier_received,
        "state": f"lastSeenBarrier={persister.last_seen_barrier} ({persister.status.name}",
    }


def test_every_command_equals_flinks() -> None:
    """All cases, all commands, with the messages of refusals."""
    commands = 0
    for case in cases("component/channel_state_persister"):
        writer = Writer()
        persister = ChannelStatePersister(writer, InputChannelInfo(0, 0))
        for command, expected in zip(case["cmds"], case["out"], strict=True):
            assert observed(persister, writer, command) == expected, (case["id"], commands, command)
            commands += 1
    assert commands == 6_143
