"""The verdicts of the laws in a report, with evidence as text and the fact that each row of it is about."""

from __future__ import annotations

from typing import Any, Final

from flowsim.history.run_span import start_of
from flowsim.laws.catalogue import LAWS
from flowsim.recording.reader import Recording
from flowsim.trace.evidence import EvidenceReader
from flowsim.validation.report import SENTENCES
from flowsim.validation.verdict import Report

_RULES: Final = {law.id: law.rules for law in LAWS}


def law_data(recording: Recording, path: str, verdicts: Report) -> dict[str, Any]:
    """JSON-able: one entry per law; raises BadInput for a damaged recording. ``path``: its name for the user."""
    reader, start_ns = EvidenceReader(recording, path), start_of(recording)
    laws = []
    for line in verdicts.lines:
        outcome = line.outcome
        evidence = [
            {
                "what": text.what,
                **text.as_data(),
                "task": text.place.task,
                "seq": text.place.seq,
                "time_ns": None if text.place.time_ns is None else text.place.time_ns - start_ns,
                "channel": channel if isinstance(channel := row.get("channel"), int) else None,
            }
            for row, text in zip(outcome.evidence, reader.texts(outcome.evidence), strict=True)
        ]
        laws.append(
            {
                "law": outcome.law,
                "sentence": SENTENCES.get(outcome.law, ""),
                "rules": _RULES.get(outcome.law, ()),
                "verdict": outcome.verdict.value,
                "rows_examined": outcome.rows_examined,
                "violations": outcome.violations,
                "reason": outcome.reason,
                "evidence": evidence,
            }
        )
    return {"verdict": verdicts.line, "engine": verdicts.engine, "laws": laws}
