"""Draws checkpoints with failures and restarts, savepoints, phases, and the end of a job by an action."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flowsim.testing.drawing.draft import GAP_MS, MOST_STEPS, Block, Draft, ms

_MANY = 1_000
_OF_FAILURES_MS = 62


def add_checkpoints(draft: Draft, *, must_finish: bool = False) -> None:
    """Adds checkpoints, failures from which the job restarts, and more snapshots.

    ``must_finish``: checkpoints are periodic, because without an interval a task that finishes waits for no reader (rule
    4.15), and a checkpoint can lack what is in its channels.
    """
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
    elif choices.often(20):
        block["mode"] = "at_least_once"
    elif not must_finish and choices.often(20) and draft.is_determined:
        # Only actions take checkpoints. Where tasks compete, one that has finished could leave data in its channels that no
        # checkpoint has (rule 4.15).
        block = {"tolerable_failed_checkpoints": _MANY}
    if choices.often(20):
        block["retained"] = 2
    draft.settings["checkpointing"] = block
    add_restarts(draft)
    draft.pauses += choices.some(lambda: _pause(draft), 0, 2)
    draft.failures += choices.some(lambda: _failure(draft), 0 if draft.is_determined else 1, 3)
    snapshots = choices.some(lambda: _snapshot(draft), 1 if draft.is_determined or "interval" not in block else 0, 4)
    draft.actions += sorted(snapshots, key=str)


def add_restarts(draft: Draft) -> None:
    """Lets the job restart after failures."""
    draft.settings["restart_strategy"] = draft.choices.one_of(
        [
            {"fixed_delay": {"attempts": _MANY, "delay": 0}},
            {"fixed_delay": {"attempts": _MANY, "delay": "13 ms"}},
            {"exponential_delay": {"initial_backoff": "5 ms", "max_backoff": "40 ms", "jitter_factor": 0}},
        ]
    )


def add_failures(draft: Draft) -> None:
    """Adds failures of a job without checkpoints, which begins again."""
    add_restarts(draft)
    draft.failures += draft.choices.some(lambda: _failure(draft, ["at_record", "at"]), 0 if draft.opens_late else 1, 3)


def _at(draft: Draft, before_ms: int = GAP_MS * MOST_STEPS, offset_ms: int = 48) -> str:
    """Returns a time between two steps; by the offset, snapshots, failures and ends have times of their own."""
    if draft.is_determined:
        return ms(GAP_MS * draft.choices.integer(1, before_ms // GAP_MS) + offset_ms)
    # Of a larger range Hypothesis mostly draws the first numbers: nothing would have happened before.
    coarse, fine = draft.choices.integer(0, min(400, before_ms) // 5), draft.choices.integer(1, 50)
    return f"{coarse * 5_000 + fine * 100} us"


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


def _snapshot(draft: Draft, before_ms: int = GAP_MS * MOST_STEPS) -> Block:
    kind = draft.choices.one_of(["checkpoint", "checkpoint", "savepoint"])
    return {kind: {"at": _at(draft, before_ms)}}


def _failure(draft: Draft, places: Sequence[str] = ("at_record", "at", "in_snapshot", "in_notification")) -> Block:
    choices = draft.choices
    if not draft.is_determined and choices.often(20):
        return _lost(draft, GAP_MS * MOST_STEPS)
    task = choices.one_of(list(draft.parallelism))
    fails: Block = {"task": task, "subtask": choices.integer(0, draft.parallelism[task] - 1)}
    if not draft.is_determined and "in_notification" in places:
        places = (*places, "in_notification")  # then the job restarts from a checkpoint
    match choices.one_of(places):
        case "at":
            fails["at"] = _at(draft, offset_ms=_OF_FAILURES_MS)
        case "at_record":
            fails["at_record"] = choices.integer(0, 12)
        case place:
            fails[place] = choices.integer(1, 3)
    if choices.often(25):
        fails["attempt"] = choices.integer(1, 2)
    return {"fail_task": fails}


def _lost(draft: Draft, before_ms: int) -> Block:
    """Returns the loss of the job manager, or of the task manager of a whole job or of a task."""
    if draft.choices.often(50):
        return {"lose_job_manager": {"at": _at(draft, before_ms)}}
    managers = draft.settings.get("task_managers")
    if managers is None:
        managers = draft.settings["task_managers"] = draft.choices.one_of(
            ["one", {"left": [f"{draft.choices.one_of(list(draft.parallelism))}/0"]}]
        )
    name = "left" if isinstance(managers, Mapping) else "task manager"
    return {"lose_task_manager": {"name": name, "at": _at(draft, before_ms)}}


def add_phases(draft: Draft) -> None:
    """Adds a second phase, and sometimes a third one: each starts from a snapshot, often with another parallelism."""
    choices = draft.choices
    # One of them could end the savepoint, or delay it until the job has ended.
    draft.failures.clear()
    draft.pauses.clear()
    forwarded = {name for block in draft.operators.values() for name in _read_forward(block)}
    steps = choices.integer(1, max(1, draft.steps))
    end_ms = GAP_MS * steps + 30 if draft.is_determined else choices.integer(40, 200)
    draft.failures += _failures_before(draft, end_ms)
    _add_end_of_phase(draft, draft.actions, end_ms)
    _keep_source_functions_from_stops(draft)
    for block in draft.operators.values():
        # With another parallelism a chain can end, and a sink behind it would have other key groups.
        block.pop("max_parallelism", None)
    left = (draft.steps - steps) // 2
    # Sources go on where they were: the second phase ends before they do.
    for number in range(choices.one_of([1, 1, 2]) if left or not draft.is_determined else 1):
        phase: Block = {}
        rescaled = {
            f"operators.{name}.parallelism": choices.integer(1, 3)
            for name, block in draft.operators.items()
            if ("key_by" in block or _both_have_keys(block)) and name not in forwarded and choices.often(60)
        }
        if draft.family == "unaligned":
            before_it = draft.phases[-1].get("set") if draft.phases else None
            _keep_without_forward(draft, rescaled, before_it if isinstance(before_it, dict) else {})
        if rescaled:
            phase["set"] = rescaled
        actions: list[Block] = [_snapshot(draft)]
        if number:
            # The phase before ends, too.
            before: list[Block] = []
            _add_end_of_phase(draft, before, GAP_MS * choices.integer(1, max(1, left)) + 30)
            draft.phases[-1]["actions"] = before
            draft.phases[-1].pop("failures", None)
        phase["actions"] = actions
        if choices.often(60):
            phase["failures"] = [
                {
                    "fail_task": {
                        "task": choices.one_of(list(draft.parallelism)),
                        "at": _at(draft, offset_ms=_OF_FAILURES_MS),
                    }
                }
            ]
        draft.phases.append(phase)


def part_snapshots(draft: Draft) -> None:
    """Gives each snapshot of a determined scenario a time of its own; of two at one time, removes the second one.

    It begins when the first one is complete or has failed: Flink leaves open whether before or after tasks that end, or
    restart, then. Sources that start again when a snapshot fails have steps at the offset of its time.
    """
    if not draft.is_determined:
        return
    kept: dict[str, Block] = {}
    for action in draft.actions:
        kept.setdefault(str(_block(action)["at"]), action)
    draft.actions[:] = kept.values()
    failures = [fails for each in draft.failures if isinstance(fails := each.get("fail_task"), dict)]
    if any({"in_snapshot", "in_notification"} & fails.keys() for fails in failures):
        for number, (at, action) in enumerate(kept.items()):
            _block(action)["at"] = ms(int(at.removesuffix(" ms")) + number)


def _block(action: Block) -> Block:
    (block,) = action.values()
    assert isinstance(block, dict)
    return block


def _read_forward(block: Block) -> list[str]:
    """Returns the streams that an operator reads over forward exchanges, which need equal parallelism."""
    streams: list[object] = [block["input"]] if block.get("partition") == "forward" else []
    for inner in block.values():
        if isinstance(inner, Mapping) and inner.get("partition") == "forward":
            streams.append(inner["to"])
    return [str(name) for each in streams for name in (each if isinstance(each, list) else [each])]


def _keep_without_forward(draft: Draft, rescaled: dict[str, int], before: Mapping[str, int]) -> None:
    """Keeps the width that an operator had before if an exchange without a partitioner would become forward.

    In-flight data of another exchange cannot be restored there: "Cannot rescale the given pointwise partitioner".
    """
    for key in (*rescaled, *before):
        name = key.split(".")[1]
        width, old = rescaled.get(key, draft.parallelism[name]), before.get(key, draft.parallelism[name])
        if width != old and width in _widths_of_readers(draft, name):
            rescaled[key] = old


def _widths_of_readers(draft: Draft, name: str) -> set[int]:
    """Returns the widths of the operators and sinks that read a stream without a partitioner."""
    found: set[int] = set()
    for reader, block in (draft.operators | draft.sinks).items():
        inputs = [block, *(inner for inner in block.values() if isinstance(inner, Mapping) and "to" in inner)]
        for each in inputs:
            read = each.get("input", each.get("to"))
            names = {str(one).partition(".")[0] for one in (read if isinstance(read, list) else [read])}
            if name in names and "partition" not in each and "key_by" not in each:
                found.add(draft.parallelism[reader])
    return found


def _both_have_keys(block: Block) -> bool:
    return any(isinstance(inner, Mapping) and "key_by" in inner for inner in block.values())


def _failures_before(draft: Draft, end_ms: int) -> list[Block]:
    """Returns failures before a phase ends: each attempt that could fail at a place has failed at a time before it."""
    choices = draft.choices
    if draft.is_determined and end_ms < 3 * GAP_MS:
        return []
    last_ms = end_ms - 2 * GAP_MS if draft.is_determined else end_ms // 2
    failures: list[Block] = []
    for _ in range(choices.one_of([0, 0, 1, 2])):
        if not draft.is_determined and choices.often(30):
            failures.append(_lost(draft, last_ms))
            continue
        task = choices.one_of(list(draft.parallelism))
        fails: Block = {"task": task, "subtask": choices.integer(0, draft.parallelism[task] - 1)}
        place = choices.one_of(["at", "at_record", "in_snapshot", "in_notification"])
        if place != "at":
            most = {"at_record": 4}.get(place, 2)
            failures.append({"fail_task": {**fails, place: choices.integer(1, most)}})
        failures.append({"fail_task": {**fails, "at": _at(draft, last_ms, _OF_FAILURES_MS)}})
        if choices.often(45):
            failures.append({"fail_task": {**fails, "at": _at(draft, last_ms, _OF_FAILURES_MS), "attempt": 1}})
    if failures:
        # A checkpoint in which a task can fail.
        draft.actions.insert(0, {"checkpoint": {"at": _at(draft, last_ms)}})
    return failures


def _add_end_of_phase(draft: Draft, actions: list[Block], at_ms: int) -> None:
    """Adds the actions that end a phase with a snapshot."""
    choices = draft.choices
    ends_by_cancellation = ["savepoint", "retained checkpoint"]
    ends = ["stop", *ends_by_cancellation]
    if not draft.is_determined or _may_drain(draft):
        ends.append("drain")
    if draft.waits or draft.read_orders or _may_expire(draft):
        ends = ends_by_cancellation
    end = choices.one_of(ends)
    if end in ends_by_cancellation:
        # A full queue delays the snapshot, perhaps until the job is cancelled.
        for operator in draft.operators.values():
            calls = operator.get("async")
            if isinstance(calls, dict):
                calls.pop("capacity", None)
    stop: Block = {"at": ms(at_ms), "savepoint": {"directory": "savepoints"}}
    match end:
        case "stop":
            actions.append({"stop": stop})
        case "drain":
            actions.append({"stop": {**stop, "drain": True}})
        case "savepoint":
            actions.append({"savepoint": {"at": ms(at_ms), "directory": "savepoints"}})
            actions.append({"cancel": {"at": ms(at_ms + 10)}})
        case _:
            block = draft.settings["checkpointing"]
            assert isinstance(block, dict)
            block |= {"directory": "checkpoints", "retention": "retain_on_cancellation"}
            actions[:] = [action for action in actions if "savepoint" not in action]
            actions.append({"checkpoint": {"at": ms(at_ms)}})
            actions.append({"cancel": {"at": ms(at_ms + 10)}})


def _may_expire(draft: Draft) -> bool:
    """Whether the savepoint of a stop can expire while calls take their time; then a task can wait for it without end."""
    block = draft.settings.get("checkpointing")
    return isinstance(block, dict) and "timeout" in block and any("async" in each for each in draft.operators.values())


def _may_drain(draft: Draft) -> bool:
    """Whether it is determined how the sources drain: several do in any order."""
    return not draft.is_determined or sum(draft.parallelism[name] for name in draft.sources) == 1


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
    if _may_drain(draft) and choices.often(50):
        stop["drain"] = True
    if has_checkpoints:
        stop["savepoint"] = {}
    _keep_source_functions_from_stops(draft)
    draft.actions.append({"stop": stop})


def _keep_source_functions_from_stops(draft: Draft) -> None:
    """How soon a stop ends a source function depends on the function."""
    for block in draft.sources.values() if draft.is_determined else ():
        block.pop("legacy", None)
