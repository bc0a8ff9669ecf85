"""A sentence keeps its quantities apart from its words, and reads as one text."""

from __future__ import annotations

from flowsim.why.answer import Cause
from flowsim.why.sentence import EventTime, EventTimeSpan, Moment, RecordCount, Sentence, Window


def test_sentence_reads_as_one_text() -> None:
    since = Sentence(" since ", Moment(1_234_567))
    sentence = Sentence("window ", EventTime(1_249), since, " after ", RecordCount(1), ".")

    assert str(sentence) == f"{sentence}" == "window 1,249 ms since 1.234567 ms after 1 record."
    assert [part for part in sentence if not isinstance(part, str)] == [
        EventTime(1_249), Moment(1_234_567), RecordCount(1),
    ]  # fmt: skip


def test_cause_gives_its_sentences_as_text() -> None:
    cause = Cause(Sentence("later by ", EventTimeSpan(60_000)), lines=("a line", Sentence(Window(0, 10), " is closed")))

    assert cause.text == "later by 60,000 ms (1 min 0 s)"
    assert cause.details == ("a line", "window [0, 10) is closed")
