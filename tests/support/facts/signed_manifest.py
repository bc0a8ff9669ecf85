"""Digests of a manifest that a test has written or changed, as the writer of a recording computes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from flowsim.recording.digest import facts_digest
from flowsim.recording.manifest import Manifest
from flowsim.recording.stored_json import decoded


def signed(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest with the digests that fit its content. Raises ValueError if it is no manifest."""
    read = decoded(json.dumps(manifest).encode(), Manifest)
    read = replace(read, facts_digest=facts_digest(read.recorded_level, read.table_digests))
    return {**manifest, "facts_digest": read.facts_digest, "digest": read.hashed()}
