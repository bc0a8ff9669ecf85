"""A recording that answers questions."""

from __future__ import annotations

from functools import cached_property
from typing import Unpack

from flowsim.recording import reader
from flowsim.trace.run_trace import Trace, TraceOptions, trace_of
from flowsim.trace.time import moment_ns
from flowsim.why.explanation import Explanation, explain, report_beside, word_of
from flowsim.why.questions import Asked
from flowsim.why.run_facts import RunFacts


class Recording(reader.Recording):
    """A recording on disk; ``why`` explains what it shows. Every method raises BadInput for damaged files.

    Rows are ordered by epoch, then by task, and within a task as recorded. Parts without an epoch marker, which a
    killed run had open, are ignored.
    """

    def why(self, question: str, *about: object, at: str | None = None, task: str | None = None) -> Explanation:
        """Answers a question, with the arguments of ``flowsim why``; raises BadInput.

        ``about``: words, such as ``"[0, 500)"``, or the value of a record, such as ``("a", 4)``. ``at``: ask about this time
        after the start of the run, such as ``"1.5s"``. ``task``: only this task.
        """
        facts, at_ns = self._facts, moment_ns("--at", at)
        if at_ns is not None:
            facts = facts.until(facts.start_ns + at_ns)
        tasks = None if task is None else frozenset(facts.names.find_tasks(task))
        asked = Asked([word_of(each) for each in about], tasks)
        return explain(facts, self.name, question, asked, report_beside(self.directory))

    def trace(self, **options: Unpack[TraceOptions]) -> Trace:
        """Returns facts as text, with the options of ``flowsim trace``, such as ``kinds="windows"``; raises BadInput."""
        return trace_of(self, self.name, **options)

    @cached_property
    def _facts(self) -> RunFacts:
        return RunFacts(self)

    @cached_property
    def name(self) -> str:
        """What texts call the recording; its directory unless it is set."""
        return str(self.directory)
