"""Draws the settings of a job: its network, chains, placement, costs and measurements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from flowsim.testing.drawing.draft import Draft, ms

_FEW_BUFFERS: Final = {"exclusive_buffers_per_channel": 1, "floating_buffers_per_gate": 1, "segment_size": 16}


def _set(draft: Draft, options: Mapping[str, Sequence[object]]) -> None:
    """Sets one of the options of each setting; the first one is Flink's default, or flowsim's, and is left out."""
    for name, values in options.items():
        value = draft.choices.one_of(values)
        if value != values[0]:
            draft.settings[name] = value


def add_settings(draft: Draft) -> None:
    """Adds settings; in a determined scenario nothing costs time and every record is sent at once."""
    choices = draft.choices
    settings = draft.settings
    has_managers = "task_managers" in settings
    _set(
        draft,
        {
            "operator_chaining": [True, True, True, False],
            "object_reuse": [False, False, False, True],
            "max_parallelism": [128, 128, 128, 16, 5],
            **({} if has_managers else {"task_managers": ["each", "one"]}),
            "exclusive_buffers_per_channel": [2, 2, 1, 0],
            "floating_buffers_per_gate": [8, 8, 2, 1],
        },
    )
    if draft.is_determined:
        settings |= {"cost": 0, "buffer_timeout": 0}
        return
    has_barriers = draft.family == "unaligned"
    has_markers = draft.wants("latency markers", 25) and not draft.waits
    if has_markers:
        settings["latency_interval"] = ms(choices.one_of([10, 3, 1]))
    is_simple = draft.family in ("plain", "event_time") and not draft.actions
    _set(
        draft,
        {
            # While the sources rest, a short timeout would flush thousands of times, and a record could not wait for the end.
            "buffer_timeout": [ms(100), ms(10), 0, *([] if draft.waits else [ms(1), "never"])],
            "segment_size": [32_768, 256, 64, 16],
            "overdraft_buffers": [20, 5, 0],
            # Rule 5.35: with 2 buffers for each channel a marker can stop a broadcast for good. Where exchanges whose barriers
            # overtake data meet others, tasks wait for each other: checkpoint after checkpoint expires.
            "max_buffers_per_channel": [10] if has_markers or has_barriers else [10, 3, 2],
            "exchange": ["pipelined_bounded", "pipelined", *(["blocking"] if is_simple else [])],
            "interruptible_timers": [False] * 6 + [True],
            "cost": ["1 us", 0, "200 us", "1 ms"],
            "budget_records": [4_096, 16, 1],
        },
    )
    has_idle = any("idle_after" in str(block) for block in draft.sources.values())
    if choices.often(55 if has_barriers else 35 if has_idle else 0):
        _let_sources_wait(draft, {} if has_markers or has_barriers else {"max_buffers_per_channel": 3})
    elif settings.get("max_buffers_per_channel", 10) != 10 and choices.often(60):
        # Channels are at their limits while their pools have taken overdraft buffers.
        settings |= {**_FEW_BUFFERS, "overdraft_buffers": 20}
    for block in draft.operators.values():
        if choices.often(20):
            block["cost"] = choices.one_of(["3 ms", "15 ms", {"default": "1 ms", "subtasks": {"0": "6 ms"}}])
    if draft.wants("buffer debloating", 20):
        settings["buffer_debloat"] = {
            "period": "10 ms", "target": "20 ms", "samples": 2, "starting_size": 64, "minimum_size": 16,
        }  # fmt: skip
    if choices.often(15):
        settings["adaptive_partitioner"] = {"max_traverse_size": choices.one_of([2, 4])}
    _place(draft, has_managers=has_managers)
    _add_exceptions(draft)
    if draft.wants("few buffers", 0):
        settings |= _FEW_BUFFERS


def _add_exceptions(draft: Draft) -> None:
    """Lets some operators and sources have a buffer timeout of their own, and some sources take time."""
    choices = draft.choices
    timeouts: list[object] = [0, ms(50), *([] if draft.waits else [ms(1), ms(5)])]
    has_timeouts = draft.settings.get("exchange") != "blocking"
    for block in (*draft.sources.values(), *draft.operators.values()) if has_timeouts else ():
        if draft.wants("buffer timeouts of operators", 8):
            block["buffer_timeout"] = choices.one_of(timeouts)
    for block in draft.sources.values():
        if choices.often(10):
            block["cost"] = choices.one_of(["2 ms", "9 ms"])


def limit_network_memory(draft: Draft, least: Callable[[], int]) -> None:
    """Gives each task manager few more network buffers than its pools require; ``least`` computes their number.

    A phase could need more, with another parallelism.
    """
    if not draft.is_determined and not draft.phases and draft.wants("little network memory", 10):
        draft.settings["network_buffers"] = least() + draft.choices.one_of([0, 1, 4])


def _place(draft: Draft, *, has_managers: bool) -> None:
    """Lets links between tasks take time, or puts a chain on a task manager that can be lost."""
    choices, settings = draft.choices, draft.settings
    has_network = "task_managers" not in settings and any("key_by" in block for block in draft.operators.values())
    if has_network and draft.wants("slow links", 25):
        # Where data waits for credits, a barrier takes three times the latency for each exchange: no checkpoint would end.
        checkpointing = settings.get("checkpointing")
        times_out = isinstance(checkpointing, dict) and "timeout" in checkpointing
        settings["links"] = [{"latency": choices.one_of(["1 ms"] if times_out else ["1 ms", "20 ms"])}]
    elif not has_managers and choices.often(15):
        # With the subtasks of its chain.
        settings["task_managers"] = {"left": [f"{choices.one_of(list(draft.parallelism))}/0"]}


def _let_sources_wait(draft: Draft, fewer: Mapping[str, object]) -> None:
    """Makes buffers few and the readers of sources slow, so that sources wait for output.

    Where barriers overtake the data that waits, the readers fail between checkpoints, so that it is restored.
    """
    choices = draft.choices
    has_barriers = draft.family == "unaligned"
    draft.settings |= {**_FEW_BUFFERS, "overdraft_buffers": 0, "buffer_timeout": 0, **fewer}
    for name, block in draft.operators.items():
        read = block["input"] if isinstance(block["input"], list) else [block["input"]]
        if not draft.sources.keys() & set(read) or "Punctual" in str(block):
            continue
        block |= {"chaining": "never", "cost": "40 ms" if has_barriers else "15 ms"}
        if has_barriers and "key_by" not in block and block.keys() & {"map", "filter", "flat_map"}:
            # Barriers overtake no data of a forward exchange.
            block.setdefault("partition", "rebalance")
        if has_barriers and not draft.phases:
            subtask = choices.integer(0, draft.parallelism[name] - 1)
            draft.failures.append({"fail_task": {"task": name, "subtask": subtask, "at_record": choices.integer(3, 8)}})
