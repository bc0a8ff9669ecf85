"""The sentences of ``flowsim trace`` as JSON: the viewer fills in the same templates."""

from __future__ import annotations

from typing import Any

from flowsim.facts.checkpoint_tables import CHECKPOINT_TABLES
from flowsim.facts.kinds import CheckpointReason
from flowsim.facts.schema import TABLES
from flowsim.recording.causal_order import TASK_TABLES
from flowsim.trace.phrases import SNAPSHOTS
from flowsim.trace.sentences import SENTENCES
from flowsim.trace.template import as_json, parsed


def wording(checkpoints: bool = True) -> dict[str, Any]:
    """Returns the sentences of facts of tasks by table: ``text``, ``rules``, and by the columns ``by`` the phrases.

    ``checkpoints``: with those of checkpoints, ``reasons``: the names of the reasons why one failed, and
    ``snapshots``: the names of the types of snapshots.
    """
    tables = [table for table in TASK_TABLES if checkpoints or table not in CHECKPOINT_TABLES]
    sentences = {"sentences": {table.name: _sentence(table.name) for table in tables}}
    if not checkpoints:
        return sentences
    reasons = {str(int(reason)): reason.name for reason in CheckpointReason}
    return {**sentences, "reasons": reasons, "snapshots": {str(int(kind)): name for kind, name in SNAPSHOTS.items()}}


def _sentence(name: str) -> dict[str, Any]:
    text, rules, by, phrases = SENTENCES[name]

    def both(text: str, rules: str) -> dict[str, Any]:
        return {"text": as_json(parsed(text, TABLES[name])), "rules": as_json(parsed(rules, TABLES[name]))}

    members = [(member if isinstance(member, tuple) else (member,), phrase) for member, phrase in phrases.items()]
    by_members = {",".join(str(int(each)) for each in member): both(*phrase) for member, phrase in members}
    return {**both(text, rules), "by": by, "phrases": by_members}
