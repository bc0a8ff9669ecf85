"""What the pages that flowsim serves to this machine have in common: ``flowsim watch`` and ``flowsim play``."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from typing import Final

_SCRIPT: Final = re.compile(r"<script>(.*?)</script>", re.DOTALL)

LOCAL_HEADERS: Final = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}
"""The headers of each answer."""


def with_policy(html: str) -> tuple[bytes, str]:
    """Returns a page around a report, and its policy: its own script, and connections to its server only."""
    (script,) = _SCRIPT.findall(html)
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; "
        "frame-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )
    return html.encode(), policy
