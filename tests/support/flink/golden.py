"""Reads golden files: one JSON object per line with the answers of the real Flink 2.3.0 classes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[2] / "golden" / "data"


def cases(name: str) -> Iterator[dict[str, Any]]:
    """The cases of ``data/<name>.jsonl.gz``, e.g. ``component/task_mailbox``."""
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
