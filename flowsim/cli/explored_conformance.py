"""Whether what Flink's sinks got is among the results that an exploration of the job finds (``docs/conform.md``)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from rich.console import Console

from flowsim.conform.compared_job import ComparedJob
from flowsim.conform.conformer import compared_status
from flowsim.conform.seen import Answer, FirstChannels, labels_of
from flowsim.errors import BadInput
from flowsim.explore.assumptions import left_out
from flowsim.explore.explored_job import ExploredJob
from flowsim.explore.job_exploration import explore_job
from flowsim.explore.outcome import Outcome, sink_name
from flowsim.explore.towards import Towards, closeness
from flowsim.graph.stream_graph import StreamNode
from flowsim.quantities import count_text
from flowsim.values.encoding import decode_value
from flowsim.values.record_text import value_text

Rows = tuple[tuple[str, int | None], ...]
Result = tuple[str, tuple[tuple[Rows, ...], ...]]
"""The status of a job, and the value as JSON and the timestamp of each row of each subtask of each sink. What a sink commits
is one sorted list of rows without timestamps."""


_TIMES: Final = 10
"""How many times the runs of an exploration are made for a result of Flink that it has not found."""


@dataclass(frozen=True, slots=True)
class Explored:
    """The results that an exploration found, and which of Flink's runs have one of them."""

    runs: int
    results: int
    is_complete: bool
    """Every order was tried."""
    left_out: Sequence[str]
    """What the orders leave out; without any, a complete exploration has found all results."""
    among: Sequence[bool]
    """For each run on Flink, whether its result was found."""

    @property
    def is_proven(self) -> bool:
        """Returns True if the job has no other result here."""
        return self.is_complete and not self.left_out

    @property
    def agrees(self) -> bool:
        """Returns False if Flink has a result that the job cannot have here. A sample of the orders does not show that."""
        return all(self.among) or not self.is_proven

    @property
    def line(self) -> str:
        """What the exploration shows, in one sentence."""
        which = "all" if self.is_proven else "every order tried, but see below" if self.is_complete else "a sample"
        results = f"{count_text(self.results, 'result')} in {count_text(self.runs, 'run')} ({which})"
        missing = [str(run) for run, found in enumerate(self.among, 1) if not found]
        if not missing:
            return f"explored: {results}; the results of Flink are among them"
        return f"explored: {results}; not among them: the result of Flink's run {', '.join(missing)}"

    def data(self) -> dict[str, Any]:
        """Returns the JSON values."""
        return {
            "runs": self.runs,
            "results": self.results,
            "complete": self.is_complete,
            "proven": self.is_proven,
            "left_out": list(self.left_out),
            "flink": list(self.among),
        }


def sinks_of(jobs: Sequence[ComparedJob]) -> list[StreamNode]:
    """Returns the sinks of a job that can be explored. Raises BadInput for phases, and for several sinks of one name."""
    if len(jobs) > 1:
        raise BadInput("--explored: a scenario with phases cannot be explored")
    sinks = [node for node in jobs[0].common.graph.nodes.values() if node.description.kind == "sink"]
    if len({node.name for node in sinks}) < len(sinks):
        raise BadInput("--explored: several sinks of the job have the same name: give each its own")
    return sinks


def explored(jobs: Sequence[ComparedJob], flink: Sequence[Sequence[Answer]], runs: int) -> Explored:
    """Explores the orders of a job in at most ``runs`` runs. Raises BadInput as ``sinks_of``.

    If these are not all orders, up to ten times as many runs search for each result of Flink that is not among them.
    """
    sinks = sinks_of(jobs)
    job, graph = jobs[0], jobs[0].common.graph
    options = replace(job.options, components=FirstChannels())
    explored_job = ExploredJob(graph, options, job.digest())
    exploration = explore_job(explored_job, runs)
    made = exploration.runs
    commits = graph.settings.checkpointing is not None
    found = {_here(each.outcome, sinks, commits) for each in exploration.results.values()}
    labels = labels_of(graph)
    of_flink = [_on_flink(phases[0], sinks, labels, commits) for phases in flink]
    for wanted in [] if exploration.is_complete else dict.fromkeys(of_flink):
        towards = Towards(explored_job.space, 1)
        for _ in range(_TIMES * runs):
            if wanted in found:
                break
            made, run = made + 1, towards.next_run()
            result = _here(explored_job.run(run), sinks, commits)
            found.add(result)
            towards.ended(run, _closeness(result, wanted))
    sentences = left_out(graph, job.options.failures, job.options.actions)
    among = [result in found for result in of_flink]
    return Explored(made, len(found), exploration.is_complete, sentences, among)


def show_explored(console: Console, results: Explored) -> None:
    """Prints what an exploration shows."""
    console.print(results.line, style="" if results.agrees else "red", soft_wrap=True)
    for sentence in results.left_out:
        console.print(f"  left out: {sentence}", soft_wrap=True)


def _closeness(result: Result, wanted: Result) -> int:
    """Returns how close the rows of all sinks come; -1: not the same status."""
    if result[0] != wanted[0]:
        return -1
    parts = zip(result[1], wanted[1], strict=True)
    return sum(closeness(one, other) for pair in parts for one, other in zip(*pair, strict=True))


def _here(outcome: Outcome, sinks: Sequence[StreamNode], commits: bool) -> Result:
    by_name = dict(outcome.sinks)
    results = []
    for sink in sinks:
        texts = [[_text(row) for row in part] for part in by_name[sink_name(sink.name)]]
        if sink.two_phase_commit is not None and commits:
            results.append(_committed(text for part in texts for text, _ in part))
        else:
            results.append(tuple(map(tuple, texts)))
    return compared_status(outcome.status.value), tuple(results)


def _text(row: bytes) -> tuple[str, int | None]:
    timed: tuple[int | None, object] = decode_value(row)  # type: ignore[assignment]
    return value_text(timed[1]), timed[0]


def _on_flink(answer: Answer, sinks: Sequence[StreamNode], labels: Mapping[int, str], commits: bool) -> Result:
    results = []
    for sink in sinks:
        if sink.two_phase_commit is not None and commits:
            lists = [json.loads(commit) for commit in answer.commits.get(sink.name, ())]
            results.append(_committed(json.dumps(row) for rows in lists for row in rows))
        else:
            seen = [answer.seen.get(f"{labels[sink.id]}/{index}", ()) for index in range(sink.parallelism)]
            results.append(tuple(tuple((e.value, e.timestamp) for e in part if e.kind == "record") for part in seen))
    return answer.status, tuple(results)


def _committed(texts: Iterable[str]) -> tuple[Rows, ...]:
    return (tuple(sorted((json.dumps(json.loads(text)), None) for text in texts)),)
