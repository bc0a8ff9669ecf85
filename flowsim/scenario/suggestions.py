"""The nearest valid name, for the end of an error."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """`` (did you mean 'x'?)``, or the known names when none is near and they are few; empty otherwise.

    >>> nearest("orign", ["origin", "dest"])
    " (did you mean 'origin'?)"
    """
    names = list(known)
    close = difflib.get_close_matches(name[:100], names, n=1, cutoff=0.6)
    if close:
        return f" (did you mean {close[0]!r}?)"
    return f" (known: {', '.join(names)})" if 0 < len(names) <= 30 else ""
