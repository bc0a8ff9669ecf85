"""``why waiting``: what a task waits for, and which task or call it waits for in the end; the task that takes most time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flowsim.errors import BadInput
from flowsim.facts.kinds import ActionKind, ActionPhase, LifeEvent
from flowsim.history.bottlenecks import Stretch, bottlenecks
from flowsim.history.task_states import WAITS, Doing, TaskState, state_of, waits_of
from flowsim.history.time_shares import LEAST_SHARE, Span, times_of_tasks
from flowsim.history.watermark_strategies import idle_ms_of
from flowsim.quantities import count_text, duration_text
from flowsim.units import NS_PER_MS
from flowsim.why.answer import Cause, WhyAnswer
from flowsim.why.restarts import early_end_causes
from flowsim.why.run_facts import Row, RunFacts, place_of
from flowsim.why.waits.final_checkpoint import final_causes
from flowsim.why.waits.mailbox import held_up_causes
from flowsim.why.waits.state_texts import doing_text, shares, shares_text, state_text, work_lines
from flowsim.why.waits.waits_for_input import input_causes
from flowsim.why.waits.waits_for_output import output_causes
from flowsim.why.waits.waits_in_element import element_causes

AT_TIME = "--at TIME asks about another moment"
NEEDS_FULL = "the recording has no actions and buffers: what a task waited for needs --record full"

_MOST_RANKED = 8


def why_waiting(facts: RunFacts, task: int) -> WhyAnswer:
    """Explains what a task does at the moment of the facts; without a moment, its longest wait."""
    total = shares(facts, task)
    if not facts.is_full:
        text = (
            f"{facts.task(task)}: {total}."
            if total
            else f"The recording does not show how {facts.task(task)} spent its time."
        )
        return WhyAnswer(Cause(text, ("3.28",)), notes=(NEEDS_FULL,))
    notes: tuple[str, ...] = ()
    if facts.until_ns is None:
        chosen = _longest(facts, task)
        if chosen is not None:
            begin, end_ns, note = chosen
            notes = (note,)
            facts = facts.until((begin["time_ns"] + end_ns) // 2)
    state = state_of(facts, task)
    statement = replace(_statement(facts, state), lines=(total,) if total else ())
    return WhyAnswer(statement, tuple(chain(facts, state)), (*notes, *_dead(facts)))


def task_named(facts: RunFacts, name: str) -> int:
    """The task; raises BadInput."""
    found = facts.names.find_tasks(name)
    if len(found) > 1:
        listed = ", ".join(facts.task(task) for task in found)
        raise BadInput(f"{name!r} has {len(found)} subtasks: ask about one of {listed}")
    return found[0]


def why_slow(facts: RunFacts) -> WhyAnswer:
    """Ranks the tasks by their shares of the time, and explains the state of the first one.

    Without a moment this is the longest span of the state that took most of its time.
    """
    ranked = times_of_tasks(facts)
    if not ranked:
        raise BadInput("the recording has no tasks")
    if not facts.is_full and facts.until_ns is not None:
        raise BadInput(f"--at: {NEEDS_FULL}")
    first = ranked[0]
    lines = tuple(f"{facts.task(time.task)}: {shares_text(time)}" for time in ranked[:_MOST_RANKED])
    if len(ranked) > _MOST_RANKED:
        lines = (*lines, f"and {count_text(len(ranked) - _MOST_RANKED, 'task')} more")
    whole = "the run" if facts.until_ns is None else f"the time up to {facts.moment(facts.until_ns)}"
    text = (
        f"By share of {whole}, {facts.task(first.task)} comes first of {count_text(len(ranked), 'task')}: it was "
        f"{first.most.value} for {first.shares[first.most]:.0%} of it."
    )
    if not first.is_loaded:
        text += f" No task was busy, back-pressured or waiting inside an element for {LEAST_SHARE:.0%} or more."
    if not facts.is_full:
        return WhyAnswer(Cause(text, ("3.28", "13.1"), lines=lines), notes=(NEEDS_FULL,))
    stretches = bottlenecks(facts, ranked, facts.start_ns, facts.end_ns)
    moves = [_moves(facts, stretches)] if len({facts.graph.tasks[one.task].vertex for one in stretches}) > 1 else []
    notes: tuple[str, ...] = ()
    if facts.until_ns is None:
        longest = max(stretches, key=lambda one: one.end_ns - one.begin_ns).longest if moves else None
        span = first.longest(first.most) if longest is None else Span(Doing.BUSY, *longest)
        if span is not None:
            facts = facts.until(span.middle_ns)
            notes = (f"the causes are those at {facts.moment(span.middle_ns)}; {AT_TIME}",)
    state = state_of(facts, first.task)
    place = None if state.since is None else place_of(state.since)
    return WhyAnswer(
        Cause(text, ("3.28", "13.1"), place, lines), (*moves, *_of_first(facts, state)), (*notes, *_dead(facts))
    )


def _moves(facts: RunFacts, stretches: Sequence[Stretch]) -> Cause:
    """That the bottleneck is not the same task all the time, with a moment of each stretch."""
    text = (
        "The bottleneck moves. By tenths of this time, the task that was busy longest while a task before it was "
        "back-pressured, and for at least half of the tenth, was:"
    )
    lines = tuple(
        f"from {facts.moment(one.begin_ns)} to {facts.moment(one.end_ns)}: {facts.task(one.task)}, for example at "
        f"{facts.moment(sum(one.longest) // 2)}"
        for one in stretches
    )
    return Cause(text, ("3.28", "13.1"), lines=lines)


def _of_first(facts: RunFacts, state: TaskState) -> list[Cause]:
    """The causes of the state of the first task; of a bottleneck first those of a task that waits for it."""
    if state.doing is not Doing.BUSY:
        return [_statement(facts, state), *chain(facts, state)]
    for channel in facts.received_by(state.task):
        sender = state_of(facts, channel.source_task)
        if sender.doing in (Doing.SOFT, Doing.HARD):
            causes, reached = chain_to(facts, sender)
            if reached == state.task:
                return [_statement(facts, sender), *causes]
    return chain(facts, state)


def _dead(facts: RunFacts) -> tuple[str, ...]:
    dead = facts.of_run.all_rows("lifecycle").equal(event=LifeEvent.DEADLOCKED).first()
    return () if dead is None else (f"the job deadlocked at {facts.moment(dead['time_ns'])}: no task of it could run",)


def _longest(facts: RunFacts, task: int) -> tuple[Row, int, str] | None:
    """The longest wait of the kind that took most time, with a note; waits for input only if there are no others."""
    waits = waits_of(facts, task)
    length = {kind: sum(end - row["time_ns"] for row, end in rows) for kind, rows in waits.items()}
    others = [kind for kind in WAITS if kind is not Doing.IDLE and length[kind]]
    kind = max(others, key=lambda one: length[one]) if others else Doing.IDLE
    if not length[kind]:
        return None
    row, end_ns = max(waits[kind], key=lambda wait: (wait[1] - wait[0]["time_ns"], -wait[0]["seq"]))
    note = (
        f"this is the longest of {count_text(len(waits[kind]), 'wait')} of this kind, {duration_text(length[kind])} in all; "
        f"{AT_TIME}"
    )
    return row, end_ns, note


def _statement(facts: RunFacts, state: TaskState) -> Cause:
    place = None if state.since is None else place_of(state.since)
    if state.doing in WAITS and state.since is not None:
        begin_ns = state.since["time_ns"]
        until = f"from {facts.moment(begin_ns)} on"
        if state.until_ns is not None:
            span = duration_text(state.until_ns - begin_ns)
            until = f"from {facts.moment(begin_ns)} to {facts.moment(state.until_ns)}, {span}"
        return Cause(f"{state_text(facts, state)} {until}.", ("3.28",), place)
    at = "" if facts.until_ns is None else f" at {facts.moment(facts.until_ns)}"
    return Cause(f"{facts.task(state.task)} does not wait{at}: it {doing_text(state)}.", ("3.28",), place)


def chain(facts: RunFacts, state: TaskState, seen: frozenset[int] = frozenset()) -> list[Cause]:
    """The causes of a state, from task to task."""
    return chain_to(facts, state, seen)[0]


def chain_to(facts: RunFacts, state: TaskState, seen: frozenset[int] = frozenset()) -> tuple[list[Cause], int]:
    """The causes of a state, from task to task, and the last of these tasks."""
    causes: list[Cause] = []
    first = state.task
    while True:
        seen = seen | {state.task}
        found, following = _causes(facts, state, is_asked=state.task == first)
        causes += found
        if following is None or following in seen:
            return causes, state.task
        was = state.doing
        state = state_of(facts, following)
        if state.doing is Doing.BUSY:
            busy = _busy_cause(facts, state, is_bottleneck=was in (Doing.SOFT, Doing.HARD))
            return [*causes, busy, *held_up_causes(facts, state)], state.task
        causes.append(_statement(facts, state))


def wait_and_causes(facts: RunFacts, state: TaskState) -> list[Cause]:
    """What a task waits for, if it waits, and the causes of its state."""
    return [*([_statement(facts, state)] if state.doing in WAITS else []), *chain(facts, state)]


def _causes(facts: RunFacts, state: TaskState, is_asked: bool) -> tuple[list[Cause], int | None]:
    match state.doing:
        case Doing.SOFT | Doing.HARD:
            causes, following = output_causes(facts, state)
            return [*causes, *_idle_timeout(facts, state), *held_up_causes(facts, state)], following
        case Doing.IDLE:
            return input_causes(facts, state)
        case Doing.YIELD | Doing.LOCK:
            return [*element_causes(facts, state), *held_up_causes(facts, state)], None
        case Doing.BUSY if is_asked:
            return [_busy_cause(facts, state, is_bottleneck=False), *held_up_causes(facts, state)], None
        case Doing.FINAL_CHECKPOINT:
            return final_causes(facts, state)
        case Doing.NOT_STARTED:
            return _not_started(facts, state)
        case Doing.ENDED:
            return early_end_causes(facts, state.task), None
        case _:
            return [], None


def _idle_timeout(facts: RunFacts, state: TaskState) -> list[Cause]:
    """Of a task with an idle timeout: the timeout does not run while the task waits for output."""
    for operator in facts.operators_of(state.task):
        idle_ms = idle_ms_of(operator)
        if idle_ms:
            text = (
                f"The idle timeout of {operator.name}, {duration_text(idle_ms * NS_PER_MS)}, does not run meanwhile: time in "
                "which a task waits for output does not count."
            )
            return [Cause(text, ("8.4",), None if state.since is None else place_of(state.since))]
    return []


def _busy_cause(facts: RunFacts, state: TaskState, is_bottleneck: bool) -> Cause:
    place = None if state.since is None else place_of(state.since)
    total = shares(facts, state.task)
    lines = (*work_lines(facts, state.task), total) if total and is_bottleneck else work_lines(facts, state.task)
    text = f"{facts.task(state.task)} is busy: it {_work(facts, state)}, and does not wait for output."
    if is_bottleneck:
        text += " It is the bottleneck: the first task below the back-pressured ones that is not back-pressured itself."
        return Cause(text, ("3.28", "13.1"), place, lines)
    return Cause(text, ("3.28",), place, lines)


def _not_started(facts: RunFacts, state: TaskState) -> tuple[list[Cause], int | None]:
    for channel in facts.received_by(state.task):
        edge = facts.graph.edges[channel.edge]
        producer_state = state_of(facts, channel.source_task)
        if edge.exchange == "BLOCKING" and producer_state.doing is not Doing.ENDED:
            name, producer = facts.task(state.task), facts.task(channel.source_task)
            text = f"{name} reads a blocking exchange: it starts when {producer} has finished and the whole partition is written."
            return [Cause(text, ("5.43", "12.27"))], channel.source_task
    for channel in facts.received_by(state.task):
        if state_of(facts, channel.source_task).doing is Doing.NOT_STARTED:
            text = (
                f"{facts.task(state.task)} starts together with {facts.task(channel.source_task)}, which sends to it."
            )
            return [Cause(text, ("12.27",))], channel.source_task
    return [], None


def _work(facts: RunFacts, state: TaskState) -> str:
    """What a busy task does, by the action that it is inside."""
    action = state.since
    if action is None or action["phase"] != ActionPhase.BEGIN:
        return "is between two actions"
    match ActionKind(action["kind"]):
        case ActionKind.LIFE_CYCLE:
            is_running = len(facts.rows("lifecycle", state.task).equal(operator=-1, event=LifeEvent.RUNNING)) > 0
            return "closes its operators or outputs" if is_running else "opens its operators"
        case ActionKind.MAIL:
            return "runs a mail"
        case ActionKind.LOCK_HOLDER:
            return "works in another thread that holds the checkpoint lock"
        case ActionKind.DEFAULT_ACTION:
            has_ended = len(facts.rows("lifecycle", state.task).after(action["seq"]).equal(event=LifeEvent.FINISH)) > 0
            if has_ended:
                return "finishes its operators"
            return "processes its input" if facts.graph.tasks[state.task].inputs else "emits records"
