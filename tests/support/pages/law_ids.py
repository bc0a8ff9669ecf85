"""The module ``flowsim/laws/law_ids.py``, made of the files of the laws; ``make docs`` writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from flowsim.laws.catalogue import LAWS

MODULE: Final = Path(__file__).parents[3] / "flowsim" / "laws" / "law_ids.py"
_HEAD: Final = '''\
"""The ids of all laws of flowsim, to check a name without importing the laws; ``make docs`` writes it."""

from __future__ import annotations

from typing import Final

LAW_IDS: Final = (
'''
_TAIL: Final = '''\
)
"""In the order of reports: by family (`catalogue.FAMILIES`), in a family by module."""
'''


def law_ids() -> str:
    """The text of the module."""
    return "".join((_HEAD, *(f'    "{law.id}",\n' for law in LAWS), _TAIL))


if __name__ == "__main__":
    MODULE.write_text(law_ids(), encoding="utf-8")
