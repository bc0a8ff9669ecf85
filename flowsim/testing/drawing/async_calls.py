"""Draws asynchronous operators: their order, capacity, answers, timeouts and retries."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from flowsim.testing.drawing.draft import FIELDS, Block, Draft, Stream, ms
from flowsim.testing.drawing.edges import can_be_keyed, keyed, some_key, united, unkeyed
from flowsim.testing.drawing.operators import chaining
from flowsim.testing.drawing.orders import python, taken
from flowsim.testing.drawing.two_inputs import add_connect

_AT_END: Final = frozenset({"alarm", "window", "join", "co_group", "process"})
_TYPES: Final = {"long", "string", "int"}


def add_async(draft: Draft) -> bool:
    """Adds an async operator; False if no stream is fit."""
    choices = draft.choices
    direct = _before(draft)
    stream = direct or united(draft)
    if stream is None:
        return False
    is_spread = stream.is_spread
    if direct is not None:
        width = stream.parallelism
        block: Block = {"input": draft.read(stream), "parallelism": width}
    elif can_be_keyed(draft)(stream) and choices.often(12):
        block, width = keyed(draft, stream, some_key(choices))
    else:
        block, width, is_spread = unkeyed(draft, stream)
    if draft.design is None:
        draft.design = "legacy" if not draft.is_determined and choices.often(15) else "mailbox"
    call: Block = {"mode": choices.one_of(["ordered", "unordered"])}
    chaining(draft, block)
    capacity = choices.one_of([100, 10, 3, 2, 1])
    if draft.is_determined and capacity < 100 and not (stream.is_single and width == 1):
        # While the operator waits for space, records wait in its channels: of several, the order is open.
        is_forward = width == stream.parallelism and block.get("partition", "forward") == "forward"
        is_forward = is_forward and "key_by" not in block
        capacity = capacity if is_forward or stream.parallelism == 1 else 100
        block["chaining"] = "never"
    if draft.design == "legacy":
        call |= {"design": "legacy", "latency": choices.one_of(["5 ms", "40 ms"])}
    else:
        call |= _answers(draft)
        if "spikes" not in call and choices.often(30):
            _write_answers(draft, call)
    if capacity < 100 and "fails" not in call:
        # With a full queue, records would wait long for their first calls.
        call["capacity"] = capacity
    fields = stream.fields
    if "answers" in call:
        fields = FIELDS
    else:
        call["add"] = {"n": choices.one_of(["n * 3 % 101", "n"])}
        if not draft.is_determined and isinstance(call.get("on_timeout"), dict) and choices.often(60):
            # Then the result does not depend on what is first, the answer or the timeout.
            call["on_timeout"] = {"add": call["add"]}
    block["async"] = call
    draft.add_operator(
        block, replace(stream, name=draft.next_name(), fields=fields, parallelism=width, is_spread=is_spread)
    )
    return True


def _before(draft: Draft) -> Stream | None:
    """Adds an operator directly before the calls, in most cases one of their chain; returns its stream, or None."""
    choices = draft.choices
    if not draft.is_determined and choices.often(15):
        return _in_one_record(draft)
    if not choices.often(30):
        return None
    if choices.often(40):
        return draft.streams[-1] if add_connect(draft) else None
    stream = draft.pick()
    if stream is None:
        return None
    width = stream.parallelism
    block: Block = {"input": draft.read(stream), "parallelism": width}
    block["flat_map"] = {"each": "(n, n + 1)", "into": "n", "type": "long", "keep": ["id", "k"]}
    draft.add_operator(block, replace(stream, name=draft.next_name(), fields=FIELDS))
    return draft.streams[-1]


def _in_one_record(draft: Draft) -> Stream | None:
    """Adds a function that emits one mutable record again and again, which the calls must copy under object reuse."""
    stream = draft.pick(lambda stream: set(stream.fields.values()) <= _TYPES)
    if stream is None:
        return None
    draft.settings["object_reuse"] = True
    block: Block = {"input": draft.read(stream), "parallelism": stream.parallelism}
    block["map"] = python("OneRecord", fields=dict(stream.fields))
    draft.add_operator(block, replace(stream, name=draft.next_name()))
    return taken(draft, draft.streams[-1])


def _answers(draft: Draft) -> Block:
    """Draws latencies, timeouts and retries."""
    choices = draft.choices
    call: Block = {}
    timeout_ms = choices.one_of([0, 350, 150, 1_000]) if draft.is_determined else choices.one_of([0, 41, 3, 60, 1_000])
    has_retries = choices.often(30)
    # Checkpoints that are taken often would be taken thousands of times while the sources rest.
    may_rest = draft.is_determined or draft.family not in ("checkpoints", "unaligned")
    # What windows and timers emit at the end of event time is not retried.
    may_rest = may_rest and (
        draft.is_determined or not any(_AT_END & block.keys() for block in draft.operators.values())
    )
    has_errors = has_retries and may_rest and not (draft.fires_on or draft.has_others) and choices.often(60)
    if has_errors or (has_retries and not timeout_ms):
        # An error after the timeout is final.
        timeout_ms = 10_000
    call["latency"] = _latency(draft, timeout_ms)
    if timeout_ms:
        call["timeout"] = ms(timeout_ms)
        if choices.often(40):
            call["silent"] = {"when": "n % 5 == 0"}
        if draft.may_fail and not draft.opens_late and choices.often(30):
            # Without it a timeout fails the job.
            draft.fails = True
        else:
            call["on_timeout"] = choices.one_of(
                [{"add": {"n": "-1"}}, "drop", *([] if "silent" in call or has_retries else ["nothing"])]
            )
    if has_retries:
        attempts = choices.integer(1, 4)
        call["retry"] = _retry(draft, attempts, has_errors=has_errors)
        if has_errors:
            draft.waits = True
            # The last attempt succeeds, so that no error is final.
            call["fails"] = {"when": "n % 3 == 0", "first_attempts": choices.integer(1, attempts)}
    if not draft.is_determined and choices.often(10):
        call["spikes"] = {"share": 0.2, "latency": "150 ms"}
    return call


def _write_answers(draft: Draft, call: Block) -> None:
    """Replaces what describes the calls by answers that are written one by one: several results, none, errors."""
    latency, fails, silent = call.pop("latency"), call.pop("fails", None), call.pop("silent", None)
    answers: list[Block] = []
    if isinstance(silent, dict):
        answers.append({**silent, "silent": True})
    if isinstance(fails, dict):
        when = f"{fails['when']} and attempt <= {fails['first_attempts']}"
        answers.append({"when": when, "latency": latency, "error": "no answer"})
    answers.append({"when": "n % 4 == 1", "latency": latency, "results": []})
    one: Block = {"id": "id", "k": "k", "n": "n * 3 % 101"}
    answers.append({"when": "n % 7 == 2", "latency": latency, "results": [one, {**one, "n": "n + 1"}]})
    answers.append({"results": [one], **({} if draft.choices.often(30) else {"latency": latency})})
    call["answers"] = answers
    if isinstance(call.get("on_timeout"), dict):
        call["on_timeout"] = {"select": {"id": "id", "k": "k", "n": "-1"}}


def _latency(draft: Draft, timeout_ms: int) -> object:
    """Draws latencies; in a determined scenario no two answers come at one instant, and none at that of a step."""
    choices = draft.choices
    if draft.is_determined:
        longest_ms = choices.one_of([10, 60, 130])
        return {"each": f"n % 4 * {longest_ms} + {choices.integer(1, 9)} + id * 0.001"}
    if 0 < timeout_ms < 1_000 and choices.often(60):
        return {"each": f"{timeout_ms - 2} + n % 4 + 0.5"}  # near the timeout
    if choices.often(20):
        return choices.one_of([{"uniform": {"low": "1 ms", "high": "40 ms"}}, {"exponential": {"mean": "8 ms"}}])
    return choices.one_of([ms(5), 0, {"each": "n % 4 * 10"}, "50 us", {"each": "n % 3"}])


def _retry(draft: Draft, attempts: int, *, has_errors: bool) -> Block:
    choices = draft.choices
    if choices.often(50):
        retry: Block = {"fixed": {"max_attempts": attempts, "delay": ms(choices.one_of([30, 75, 120]))}}
    else:
        growing: Block = {"max_attempts": attempts, "initial": ms(choices.one_of([20, 45]))}
        growing |= {"max": ms(choices.one_of([60, 200])), "multiplier": choices.one_of([1.5, 2.0, 3.0])}
        retry = {"exponential": growing}
    if not has_errors:
        retry |= {"when": "n % 4 == 0", "on_error": False}
    elif choices.often(30):
        retry["when"] = "n % 4 == 0"
    if choices.often(20):
        retry["when_empty"] = True
    return retry
