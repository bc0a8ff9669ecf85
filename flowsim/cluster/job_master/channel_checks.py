"""Checks the in-flight data of a snapshot from a directory before a job is restored from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgpack

from flowsim.cluster.job_master.channel_states import exchanges_of, stored_channel_states
from flowsim.cluster.job_master.executions import VertexExecutions
from flowsim.cluster.job_master.stored_channels import channels_of
from flowsim.errors import BadInput, ValueNotAllowed
from flowsim.state.redistribution.operator_state import OperatorState
from flowsim.state.snapshots.stored_streams import CheckpointStreams
from flowsim.streamrecord.codec import LATENCY_MARKER_LENGTH, RECORD_LENGTH, STATUS_LENGTH, WATERMARK_LENGTH
from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.values.closed_set import check
from flowsim.values.encoding import decode_untrusted_sequence

_STATUSES: Final = frozenset(map(int, WatermarkStatus))
_REFUSED: Final = (ValueError, TypeError, ValueNotAllowed, RecursionError, msgpack.UnpackException)


def check_channel_states(
    vertices: Sequence[VertexExecutions], states: Mapping[str, OperatorState], streams: CheckpointStreams
) -> None:
    """Raises BadInput unless the in-flight data of each channel is a sequence of whole elements (rule 12.85)."""
    stored_channel_states(vertices, states, exchanges_of(vertices))
    for each, target, channels in channels_of(vertices, states, streams):
        for (source, subtask), stored in sorted(channels.items()):
            try:
                for element in decode_untrusted_sequence(stored.content):
                    _check_element(element)
            except _REFUSED as error:
                raise BadInput(
                    f"in-flight data from subtask {source} of '{each.source.name}' to subtask {subtask} of "
                    f"'{target.name}': {error or type(error).__name__}: the checkpoint is damaged; use another checkpoint"
                ) from None


def _check_element(element: object) -> None:
    """Raises ValueNotAllowed for what is no element."""
    if type(element) is tuple and (_is_record(element) or _is_special(element)):
        for part in element:
            check(part)
    else:
        raise ValueNotAllowed(f"expected an element of a stream, got {element!r:.60}")


def _is_record(element: tuple[object, ...]) -> bool:
    return len(element) == RECORD_LENGTH and (element[0] is None or type(element[0]) is int)


def _is_special(element: tuple[object, ...]) -> bool:
    """Returns True for a watermark, a status or a latency marker."""
    size = len(element)
    return all(type(part) is int for part in element) and (
        size == WATERMARK_LENGTH
        or (size == STATUS_LENGTH and element[0] == 2 and element[1] in _STATUSES)
        or (size == LATENCY_MARKER_LENGTH and element[0] == 3)
    )
