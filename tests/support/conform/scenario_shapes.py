"""The shapes of a scenario, from its mapping as ``docs/scenario.md`` describes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from tests.support.conform.function_shapes import functions_of
from tests.support.conform.job_shapes import Life, Shapes, add, pair
from tests.support.conform.scenario_graph import ScenarioGraph
from tests.support.conform.scenario_words import Block, end_of, ns

WITHOUT_UNALIGNED: Final = ("forward", "rescale", "broadcast", "custom")
"""Exchanges whose barriers stay in order (rule 12.19)."""

SINKS: Final = {
    "collect": "collected", "csv": "files", "jsonl": "files", "parquet": "files", "sqlite": "database",
    "postgres": "database", "print": "printed",
}  # fmt: skip


def shapes_of_scenario(scenario: Block) -> Shapes:
    """Of a scenario with all its phases."""
    return _Scenario(scenario).shapes


class _Scenario(ScenarioGraph):
    """Adds the shapes of settings, checkpoints, failures and phases."""

    def __init__(self, data: Block) -> None:
        super().__init__(data)
        self._add_settings()
        self._add_life()

    # Settings.

    def _add_settings(self) -> None:
        shapes, settings = self.shapes, self.settings
        timeout_ns = ns(settings.get("buffer_timeout", "100 ms"))
        timeout = "never" if timeout_ns == 10**30 else "some ms" if timeout_ns else "after every record"
        add(shapes, "buffer timeout", timeout)
        add(
            shapes,
            "task managers",
            {"one": "one", "each": "each subtask"}.get(str(settings.get("task_managers", "each")), "some"),
        )
        add(shapes, "exclusive buffers", str(settings.get("exclusive_buffers_per_channel", 2)))
        add(shapes, "floating buffers", str(settings.get("floating_buffers_per_gate", 8)))
        add(shapes, "segments", "default" if settings.get("segment_size", 32_768) == 32_768 else "small")
        exchange = settings.get("exchange", "pipelined_bounded")
        add(
            shapes,
            "exchange",
            {"pipelined_bounded": "pipelined", "pipelined": "pipelined, unbounded"}.get(exchange, exchange),
        )
        facts = {
            "chaining: disabled": settings.get("operator_chaining") is False,
            "objects: reused": settings.get("object_reuse") is True,
            "buffers: debloated": "buffer_debloat" in settings,
            "overdraft buffers: none": settings.get("overdraft_buffers") == 0,
            "max buffers per channel: few": settings.get("max_buffers_per_channel", 10) != 10,
        }
        shapes |= {word for word, is_so in facts.items() if is_so}
        if settings.get("object_reuse") and "async" in self.kinds.values():
            add(shapes, "objects", "reused before an async operator")
        if "latency_interval" in settings and "exchange: broadcast" in shapes:
            add(shapes, "latency markers", "on a broadcast")
        few = settings.get("exclusive_buffers_per_channel", 2) < 2 and settings.get("floating_buffers_per_gate", 8) < 8
        if "cost: slow operator" in shapes and few:
            add(shapes, "cost", "slow operator with few credits", "source that waits for output")
        for sink in self.data["sinks"].values():
            kind = next(each for each in SINKS if each in sink)
            add(shapes, "sink", SINKS[kind])
        restart = settings.get("restart_strategy", {})
        add(shapes, "restart", *(kind.replace("_", " ") for kind in restart))

    # Checkpoints, failures and phases.

    def _add_life(self) -> None:
        shapes, block = self.shapes, self.settings.get("checkpointing")
        phases: list[Block] = [self.data, *self.data.get("phases", [])]
        failures = [word for phase in phases for each in phase.get("failures", []) for word in self._failure(each)]
        names = [name for block in self.operators.values() for name in functions_of(block)]
        failures += ["while an operator opens"] * ("LateOpening" in names)
        if "restart_strategy" not in self.settings and "f'fail'" in str(self.operators):
            failures.append("of a user function, without a restart")
        ends = [end for phase in phases for end in [end_of(phase.get("actions", []))] if end is not None]
        places = [*self.sources, *self.operators]
        parallelisms = tuple(
            sum(self.parallelism(name, phase.get("set", {}) if number else {}) for name in places)
            for number, phase in enumerate(phases)
        )
        operators = set(self.kinds.values())
        if len(ends) >= len(phases):
            add(shapes, "end", ends[-1])
        Life(self.checkpoints, tuple(failures), tuple(ends[: len(phases) - 1]), parallelisms).add_to(shapes, operators)
        actions = [action for phase in phases for action in phase.get("actions", [])]
        add(shapes, "action", *(kind for action in actions for kind in action if kind in ("checkpoint", "savepoint")))
        if block is None:
            return
        add(shapes, "sink", "commits")
        facts = {
            "periodic": "interval" in block and ns(block["interval"]) < ns("1 min"),
            "several at once": block.get("max_concurrent", 1) > 1,
            "with a pause between": 0 < ns(block.get("min_pause", 0)) < ns("1 min"),
            "that expires": ns(block.get("timeout", "10 min")) < ns("1 s"),
            "several retained": block.get("retained", 1) > 1,
            "whose asynchronous part takes time": ns(block.get("async_duration", 0)) > 0,
            "whose synchronous part takes time": ns(block.get("sync_duration", 0)) > 0,
        }
        add(shapes, "checkpoint", *(word for word, is_so in facts.items() if is_so))
        has_costs = ns(self.settings.get("cost", "1 us")) > 0 or "cost: slow operator" in shapes
        if self.checkpoints.startswith("unaligned"):
            exchanges = {shape.removeprefix("exchange: ") for shape in shapes if shape.startswith("exchange: ")}
            if exchanges & set(WITHOUT_UNALIGNED):
                add(shapes, "checkpoint", "aligned by force beside unaligned exchanges")
            if has_costs or any(phase.get("pauses") for phase in phases):
                add(shapes, "checkpoint", "with data in flight")
                pair(shapes, "in-flight data x failure", set(failures))
                pair(shapes, "in-flight data x restore", set(ends[: len(phases) - 1]))
                pair(shapes, "in-flight data x operator", operators)
        if self._has_ended_source(actions):
            add(shapes, "checkpoint", "after a source subtask has ended")

    def _failure(self, failure: Block) -> Iterable[str]:
        if "fail_task" not in failure:
            return ["of the job manager" if "lose_job_manager" in failure else "of a task manager"]
        task = failure["fail_task"]
        places = {
            "at_record": "at a record",
            "at": "at a time",
            "in_snapshot": "in a snapshot",
            "in_notification": "in a notification",
        }
        words = [word for key, word in places.items() if key in task]
        words += ["of a source"] * (task["task"] in self.sources)
        words += ["of a later attempt"] * (task.get("attempt", 0) > 0)
        return words

    def _has_ended_source(self, actions: Sequence[Block]) -> bool:
        at = [ns(value["at"]) for action in actions for value in action.values()]
        ends = []
        for source in self.sources.values():
            script = source.get("script", {})
            for entries in script.get("subtasks", []):
                if entries and entries[-1].get("end") and "step" in entries[-1]:
                    ends.append((entries[-1]["step"] + 1) * ns(script.get("gap", "10 ms")))
        return bool(at and ends) and min(ends) < max(at)
