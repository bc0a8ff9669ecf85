"""Links to a moment of a report: the part of its address after ``#``."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Final

VIEWS: Final = ("start", "graph", "timeline", "channel", "event-time", "state", "laws", "steps", "checkpoints", "rules")
"""The views of a report, by their names in links."""


LINK_PARTS: Final = (
    "view", "fact", "step", "t", "from", "to", "scale", "gaps", "y", "task", "channel", "operator", "key", "checkpoint", "rule",
    "job", "screen",
)  # fmt: skip


def report_link(
    view: str,
    *,
    task: int | None = None,
    seq: int | None = None,
    time_ns: int | None = None,
    channel: int | None = None,
) -> str:
    """Returns a link to a fact, by its task and seq; if the report does not have it, to a time since the start in ns.

    >>> report_link("channel", task=1, seq=302, channel=0)
    'view=channel&task=1&channel=0&fact=1.302'
    """
    parts = [f"view={view}"]
    if task is not None:
        parts.append(f"task={task}")
    if channel is not None:
        parts.append(f"channel={channel}")
    if task is not None and seq is not None:
        parts.append(f"fact={task}.{seq}")
    if time_ns is not None:
        parts.append(f"t={time_ns}")
    return "&".join(parts)


def evidence_link(row: Mapping[str, object], task: int | None, seq: int | None, time_ns: int | None) -> str:
    """Returns a link for a row of evidence: to its channel, or to the fact among all facts."""
    channel = row.get("channel")
    if isinstance(channel, int):
        return report_link("channel", task=task, seq=seq, time_ns=time_ns, channel=channel)
    return report_link("steps", task=task, seq=seq, time_ns=time_ns)


def report_command(path: str, link: str) -> str:
    """Returns the command that opens the report of a recording at a link.

    >>> report_command("out/lost", "view=steps&fact=1.302")
    "flowsim report out/lost --open --at 'view=steps&fact=1.302'"
    """
    return shlex.join(["flowsim", "report", path, "--open", "--at", link])
