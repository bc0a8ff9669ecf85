"""Draws checkpoints with failures and restarts, savepoints, and the end of a job by an action."""

from __future__ import annotations

from flowsim.testing.drawing.draft import GAP_MS, MOST_STEPS, Block, Draft, ms

_MANY = 1_000


def add_checkpoints(draft: Draft) -> None:
    """Adds checkpoints, failures from which the job restarts, and more snapshots."""
    choices = draft.choices
    is_unaligned = draft.family == "unaligned"
    block: Block = {"interval": "40 s", "min_pause": "40 s"}
    if not draft.is_determined:
        block = {"interval": ms(choices.one_of([10, 25, 60]))}
        if choices.often(30):
            block["min_pause"] = "5 ms"
        if choices.often(30):
            block["async_duration"] = "4 ms"
        if choices.often(20):
            block["sync_duration"] = "1 ms"
        if choices.often(20):
            # Longer than a barrier takes over all links, so that the last checkpoint completes.
            block |= {"timeout": "250 ms", "tolerable_failed_checkpoints": _MANY}
        elif choices.often(20) and not is_unaligned and "min_pause" not in block:
            block["max_concurrent"] = 2
    block.setdefault("tolerable_failed_checkpoints", _MANY)
    if is_unaligned:
        block["unaligned"] = True
        timeout_ms = choices.one_of([0, 0, 15] if draft.is_determined else [0, 1, 3, 8])
        if timeout_ms:
            block["aligned_timeout"] = ms(timeout_ms)
    elif choices.often(12):
        block["mode"] = "at_least_once"
    if choices.often(20):
        block["retained"] = 2
    draft.settings["checkpointing"] = block
    draft.settings["restart_strategy"] = choices.one_of(
        [
            {"fixed_delay": {"attempts": _MANY, "delay": 0}},
            {"fixed_delay": {"attempts": _MANY, "delay": "13 ms"}},
            {"exponential_delay": {"initial_backoff": "5 ms", "max_backoff": "40 ms", "jitter_factor": 0}},
        ]
    )
    draft.pauses += choices.some(lambda: _pause(draft), 0, 2)
    draft.failures += choices.some(lambda: _failure(draft), 0, 3)
    snapshots = choices.some(lambda: _snapshot(draft), 1 if draft.is_determined else 0, 4)
    draft.actions += sorted(snapshots, key=str)


def _at(draft: Draft) -> str:
    """Returns a time between two steps."""
    if draft.is_determined:
        return ms(GAP_MS * draft.choices.integer(1, MOST_STEPS) + 48)
    return f"{draft.choices.integer(1, 400_000)} us"


def _pause(draft: Draft) -> Block:
    """Returns a pause; in a determined scenario of a task with one input channel, because of several the order is open."""
    choices = draft.choices
    names = list(draft.parallelism)
    if draft.is_determined:
        names = [*draft.sources, *(stream.name for stream in draft.streams if stream.is_single)]
    task = choices.one_of(names)
    from_ms, long_ms = choices.integer(1, 25), choices.integer(1, 10)
    if draft.is_determined:
        from_ms, long_ms = from_ms * GAP_MS + 20, long_ms * GAP_MS + 50
    subtask = choices.integer(0, draft.parallelism[task] - 1)
    return {"task": task, "subtask": subtask, "from": ms(from_ms), "to": ms(from_ms + long_ms)}


def _snapshot(draft: Draft) -> Block:
    return {draft.choices.one_of(["checkpoint", "checkpoint", "savepoint"]): {"at": _at(draft)}}


def _failure(draft: Draft) -> Block:
    choices = draft.choices
    if not draft.is_determined and choices.often(10):
        return {"lose_job_manager": {"at": _at(draft)}}
    task = choices.one_of(list(draft.parallelism))
    fails: Block = {"task": task, "subtask": choices.integer(0, draft.parallelism[task] - 1)}
    match choices.one_of(["at_record", "at", "in_snapshot", "in_notification"]):
        case "at":
            fails["at"] = _at(draft)
        case "at_record":
            fails["at_record"] = choices.integer(0, 12)
        case place:
            fails[place] = choices.integer(1, 3)
    if choices.often(25):
        fails["attempt"] = choices.integer(1, 2)
    return {"fail_task": fails}


def add_phases(draft: Draft) -> None:
    """Adds a second phase, which starts from a savepoint of the first one, often with another parallelism."""
    choices = draft.choices
    # One of them could end the savepoint, or delay it until the job has ended.
    draft.failures.clear()
    draft.pauses.clear()
    at_ms = GAP_MS * choices.integer(1, max(1, draft.steps)) + 30
    if choices.often(50) or draft.waits:
        draft.actions.append({"savepoint": {"at": ms(at_ms), "directory": "savepoints"}})
        draft.actions.append({"cancel": {"at": ms(at_ms + 10)}})
    else:
        draft.actions.append({"stop": {"at": ms(at_ms), "savepoint": {"directory": "savepoints"}}})
    for block in draft.operators.values():
        # With another parallelism a chain can end, and a sink behind it would have other key groups.
        block.pop("max_parallelism", None)
    phase: Block = {}
    rescaled = {
        f"operators.{name}.parallelism": choices.integer(1, 3)
        for name, block in draft.operators.items()
        if "key_by" in block and choices.often(60)
    }
    if rescaled:
        phase["set"] = rescaled
    phase["actions"] = [_snapshot(draft)]
    if choices.often(60):
        phase["failures"] = [{"fail_task": {"task": choices.one_of(list(draft.parallelism)), "at": _at(draft)}}]
    draft.phases.append(phase)


def add_end(draft: Draft) -> None:
    """Adds an action that ends the job before its sources do."""
    choices = draft.choices
    if choices.often(20):
        draft.actions.append({"cancel": {"at": _at(draft)}})
        return
    has_checkpoints = "checkpointing" in draft.settings
    if draft.is_determined and not has_checkpoints:
        return  # Flink stops a job only with a savepoint
    stop: Block = {"at": _at(draft)}
    # Sources drain in any order.
    may_drain = not draft.is_determined or sum(draft.parallelism[name] for name in draft.sources) == 1
    if may_drain and choices.often(50):
        stop["drain"] = True
    if has_checkpoints:
        stop["savepoint"] = {}
    draft.actions.append({"stop": stop})
