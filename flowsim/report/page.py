"""One HTML file from the viewer and a payload: it opens from disk and makes no connection."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from flowsim.report.payload import Payload

_PLACE: Final = "<!-- flowsim: data -->"
_SCRIPT: Final = re.compile(r"<script type=\"module\"[^>]*>(.*?)</script>", re.DOTALL)


def viewer_bytes() -> int:
    """The size of a page without a payload."""
    return len(_viewer().encode())


@dataclass(frozen=True, slots=True)
class Against:
    """A second recording; ``difference``: the first step at which its facts differ, None if all are equal."""

    payload: Payload
    difference: int | None


def page(payload: Payload, against: Against | None = None) -> str:
    """The report as HTML. Its policy allows the script of the viewer, and no connection."""
    viewer = _viewer()
    (script,) = _SCRIPT.findall(viewer)
    policy = (
        f"default-src 'none'; script-src 'sha256-{b64encode(hashlib.sha256(script.encode()).digest()).decode()}'; "
        "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    data = _scripts(payload, "")
    if against is not None:
        difference = json.dumps({"difference": against.difference})
        data += (
            f'\n{_scripts(against.payload, "-b")}\n<script type="application/json" id="against">{difference}</script>'
        )
    before, _, after = viewer.partition(_PLACE)
    before = before.replace("<head>", f'<head>\n<meta http-equiv="Content-Security-Policy" content="{policy}">', 1)
    return before + data + after


def _scripts(payload: Payload, suffix: str) -> str:
    return (
        f'<script type="application/json" id="head{suffix}">{_escaped(payload.head)}</script>\n'
        f'<script type="application/octet-stream" id="body{suffix}">{payload.body}</script>'
    )


def _viewer() -> str:
    return files("flowsim.report").joinpath("assets", "viewer.html").read_text(encoding="utf-8")


def _escaped(json_text: str) -> str:
    """JSON that cannot end its script element."""
    return json_text.replace("<", "\\u003c")
