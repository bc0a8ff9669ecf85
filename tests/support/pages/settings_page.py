"""The tables of settings in ``docs/datastream.md``, made of the classes of settings; ``make docs`` writes them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from flowsim.datastream.common.configuration import BUFFER_TIMEOUT_ENABLED
from flowsim.graph.checkpoint_settings import (
    CheckpointSettings,
    ExponentialDelayRestart,
    FailureRateRestart,
    FixedDelayRestart,
)
from flowsim.graph.job_settings import AdaptivePartitionerSettings, BufferDebloatSettings, JobSettings, Link
from flowsim.graph.setting import Setting, settings_of

PAGE: Final = Path(__file__).parents[3] / "docs" / "datastream.md"
HEAD: Final = "| name | in a scenario | Flink's key | PyFlink's method |\n|---|---|---|---|\n"
OWNERS: Final[dict[str, type[Any]]] = {
    "Settings": JobSettings,
    **{
        owner.__name__: owner
        for owner in (
            CheckpointSettings, FixedDelayRestart, FailureRateRestart, ExponentialDelayRestart, BufferDebloatSettings,
            AdaptivePartitionerSettings, Link,
        )
    },
}  # fmt: skip
"""The class whose settings the table below a heading lists."""


def settings_page(page: str) -> str:
    """Returns the page with the tables of settings made again."""
    for heading, owner in OWNERS.items():
        before, start, section = page.partition(f"# {heading}\n")
        table = re.search(rf"{re.escape(HEAD)}(?:\|.*\n)*", section)
        assert table is not None, f"the section {heading} has no table of settings"
        rows = "".join(map(_row, settings_of(owner)))
        page = before + start + section[: table.start()] + HEAD + rows + section[table.end() :]
    return page


def _row(setting: Setting) -> str:
    options = [setting.option, BUFFER_TIMEOUT_ENABLED if setting.name == "buffer_timeout_ms" else None]
    cells = [[setting.name], [setting.key], options, [setting.method]]
    return "|" + "".join(f" {', '.join(f'`{name}`' for name in cell if name)} |" for cell in cells) + "\n"


if __name__ == "__main__":
    PAGE.write_text(settings_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
