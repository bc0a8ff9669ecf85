"""The addresses at which a process listens."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

LISTENS = "0A"
"""The state of a listening socket in /proc/net/tcp."""


def listening(process: int) -> Iterator[str]:
    """The addresses at which a process listens, in hexadecimal."""
    sockets = {os.readlink(each) for each in Path(f"/proc/{process}/fd").iterdir() if each.is_symlink()}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *rest = line.split()
            if state == LISTENS and f"socket:[{rest[5]}]" in sockets:
                yield local.partition(":")[0]


LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
