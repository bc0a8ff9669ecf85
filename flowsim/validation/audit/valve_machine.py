"""A status watermark valve that looks at all its channels every time (rules 8.9 to 8.12). Runs in Python workers."""

from __future__ import annotations

from dataclasses import dataclass

COLUMNS = ("emitted", "input", "input_channel", "channels", "kind", "timestamp")
_WATERMARK, _STATUS = 1, 2
_NEVER = -(2**63)


@dataclass
class _Channel:
    watermark: int = _NEVER
    active: bool = True
    counts: bool = True
    """Aligned: it may hold the input back."""


class ValveMachine:
    """All inputs of one task. What an element should emit is owed until the emissions that follow have paid it."""

    def __init__(self) -> None:
        self.inputs: dict[int, list[_Channel]] = {}
        self.reached: dict[int, int] = {}
        self.idle: dict[int, bool] = {}
        self.owed: list[tuple[int, int, int]] = []
        self.began = False

    def take(self, row: tuple[int, ...]) -> str:
        emitted, index, channel, channels, kind, timestamp = row
        if emitted:
            if self.owed and self.owed[0] == (index, kind, timestamp):
                self.owed.pop(0)
                return ""
            return "emits what nothing calls for" if self.began else "emits before anything came"
        left, self.began = self.owed, True
        self.owed = []
        if kind in (_WATERMARK, _STATUS) and 0 <= channel < channels:
            self.owed = self._owes(index, channel, channels, kind, timestamp)
        return "does not emit what an element calls for" if left else ""

    def end(self, whole: bool) -> str:
        return "does not emit what the last element calls for" if whole and self.owed else ""

    def _owes(self, index: int, number: int, channels: int, kind: int, timestamp: int) -> list[tuple[int, int, int]]:
        all_channels = self.inputs.setdefault(index, [_Channel() for _ in range(channels)])
        reached, was_idle = self.reached.get(index, _NEVER), self.idle.get(index, False)
        channel = all_channels[number]
        goal = _NEVER
        if kind == _WATERMARK:
            if was_idle or not channel.active or timestamp <= channel.watermark:
                return []
            channel.watermark = timestamp
            channel.counts = channel.counts or timestamp >= reached
            goal = self._lowest(all_channels)
        elif (timestamp == 0) == channel.active:
            return []
        elif timestamp == 0:
            channel.active = True
            channel.counts = channel.watermark >= reached
            self.idle[index] = False
            return [(index, _STATUS, 0)] if was_idle else []
        else:
            channel.active = channel.counts = False
            alone = not any(other.active for other in all_channels)
            if channel.watermark == reached:
                # The channel that held the input back is gone: the others decide, or, with none left, the furthest of all.
                goal = max(other.watermark for other in all_channels) if alone else self._lowest(all_channels)
            if alone:
                self.idle[index] = True
        owed = []
        if goal > reached:
            self.reached[index] = goal
            owed.append((index, _WATERMARK, goal))
        if kind == _STATUS and self.idle.get(index, False):
            owed.append((index, _STATUS, -1))
        return owed

    def _lowest(self, channels: list[_Channel]) -> int:
        return min((channel.watermark for channel in channels if channel.counts), default=_NEVER)
