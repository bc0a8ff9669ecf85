"""The first comment of a scenario: what it teaches."""

from __future__ import annotations

import re
from typing import Final

SCHEMA_COMMENT: Final = re.compile(r"# yaml-language-server: \$schema=.*\n")


def first_comment(text: str) -> list[str]:
    """Returns the paragraphs of the first comment of a scenario's text, without the line that names the schema.

    >>> first_comment("# Teaches one thing:\\n# lateness.\\n#\\n# And more.\\nflowsim: 1\\n")
    ['Teaches one thing: lateness.', 'And more.']
    """
    lines = []
    for line in SCHEMA_COMMENT.sub("", text, count=1).splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    return [" ".join(paragraph.split()) for paragraph in "\n".join(lines).split("\n\n") if paragraph]
