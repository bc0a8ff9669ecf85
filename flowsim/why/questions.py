"""The questions that ``flowsim why`` answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from flowsim.errors import BadInput, did_you_mean
from flowsim.history.timers import timer_operators
from flowsim.quantities import count_text
from flowsim.why.about import About, window_words
from flowsim.why.aligned import exchanges, why_aligned
from flowsim.why.answer import WhyAnswer
from flowsim.why.checkpoints.committed import why_committed
from flowsim.why.checkpoints.question import why_checkpoint
from flowsim.why.checkpoints.restart import why_failed, why_restart
from flowsim.why.firings.question import why_fired
from flowsim.why.late import why_late
from flowsim.why.no_output import why_no_output
from flowsim.why.order import why_order
from flowsim.why.records import Records
from flowsim.why.run_facts import RunFacts
from flowsim.why.state_question import asked_states, why_state
from flowsim.why.timers.deleted import why_deleted
from flowsim.why.timers.ignored import why_ignored
from flowsim.why.timers.question import why_timer
from flowsim.why.waiting import task_named, why_slow, why_waiting


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user asks about: the words after the question, and the tasks of ``--task``; None: all."""

    about: Sequence[str]
    tasks: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """One question. ``words``: the arguments that it accepts, for messages."""

    name: str
    summary: str
    words: str
    fewest: int
    most: int
    answer: Callable[[RunFacts, Asked], WhyAnswer]
    example: Callable[[RunFacts], Sequence[str]]
    """Words for a recording; empty if it has nothing of that kind."""


def _late(facts: RunFacts, asked: Asked) -> WhyAnswer:
    return why_late(facts, asked.about[0] if asked.about else None, asked.tasks)


def _waiting(facts: RunFacts, asked: Asked) -> WhyAnswer:
    return why_waiting(facts, task_named(facts, asked.about[0])) if asked.about else why_slow(facts)


def _no_output(facts: RunFacts, asked: Asked) -> WhyAnswer:
    return why_no_output(facts, asked.about, asked.tasks)


def _order(facts: RunFacts, asked: Asked) -> WhyAnswer:
    return why_order(facts, asked.about[0], asked.about[1], asked.tasks)


def _timer(facts: RunFacts, asked: Asked) -> WhyAnswer:
    return why_timer(facts, asked.about, asked.tasks)


def _fired(facts: RunFacts, asked: Asked) -> WhyAnswer:
    return why_fired(facts, asked.about, asked.tasks)


def _state(facts: RunFacts, asked: Asked) -> WhyAnswer:
    return why_state(facts, asked.about, asked.tasks)


def _deleted(facts: RunFacts, asked: Asked) -> WhyAnswer:
    return why_deleted(facts, asked.about, asked.tasks)


def _ignored(facts: RunFacts, asked: Asked) -> WhyAnswer:
    return why_ignored(facts, asked.about, asked.tasks)


def _aligned(facts: RunFacts, asked: Asked) -> WhyAnswer:
    return why_aligned(facts, asked.about, asked.tasks)


def _checkpoint(facts: RunFacts, asked: Asked) -> WhyAnswer:
    return why_checkpoint(facts, asked.about, asked.tasks)


def _committed(facts: RunFacts, asked: Asked) -> WhyAnswer:
    return why_committed(facts, asked.about)


def _restart(facts: RunFacts, asked: Asked) -> WhyAnswer:
    return why_restart(facts, asked.about)


def _failed(facts: RunFacts, asked: Asked) -> WhyAnswer:
    return why_failed(facts)


def _restart_example(facts: RunFacts) -> Sequence[str]:
    return [str(one) for one in facts.checkpoints().failures][:1]


def _no_example(facts: RunFacts) -> Sequence[str]:
    return ()


def _checkpoint_example(facts: RunFacts) -> Sequence[str]:
    return [str(one) for one in facts.checkpoints().checkpoints][:1]


def _aligned_example(facts: RunFacts) -> Sequence[str]:
    return exchanges(facts)[:1] if facts.graph.history.checkpoints else []


def _late_example(facts: RunFacts) -> Sequence[str]:
    row = facts.all_rows("late_drop").first()
    value = "" if row is None else facts.names.value(row["fingerprint"])
    return [] if row is None or not value else [f"{value}@{row['timestamp']}"]


def _no_output_example(facts: RunFacts) -> Sequence[str]:
    return [operator.name.partition(": ")[2] for operator in facts.graph.operators if operator.kind == "sink"][:1]


def _order_example(facts: RunFacts) -> Sequence[str]:
    known = Records(facts).some(2)
    return [record.argument for record in known] if len(known) == 2 else []


def _waiting_example(facts: RunFacts) -> Sequence[str]:
    return [facts.task(task.task) for task in facts.graph.tasks.values() if task.inputs][:1]


def _fired_example(facts: RunFacts) -> Sequence[str]:
    row = facts.all_rows("window_fire").first()
    if row is None:
        return _timer_example(facts) if facts.is_full else []
    return window_words(facts, row)


def _state_example(facts: RunFacts) -> Sequence[str]:
    found = asked_states(facts, About(), "", None)
    if not found:
        return []
    row = found[0][0]
    name, kind = facts.names.state(row["task"], row["operator"], row["state"])
    key = facts.names.key(row["key"]).strip('"')
    operator = facts.names.operator(row["task"], row["operator"])
    return [operator, *([] if kind.startswith("window") else [name]), *filter(None, [key])]


def _timer_example(facts: RunFacts) -> Sequence[str]:
    for task, operator in timer_operators(facts) if facts.is_full else ():
        for rows in facts.rows_of_attempts("timers", task):
            row = rows.where((rows["operator"] == operator.operator) & (rows["key"] != 0)).first()
            if row is not None:
                return [operator.name, facts.names.key(row["key"]).strip('"'), f"@{row['timestamp']}"]
    return []


_DELETED: Final = Question(
    "deleted",
    "why a timer was deleted, or a window was cleaned up or merged",
    "[OPERATOR] [WINDOW] [KEY] [@MS]",
    0,
    4,
    _deleted,
    _timer_example,
)
_IGNORED: Final = Question(
    "ignored",
    "why a timer had no effect: at the end, behind the watermark, of a merged or empty window",
    "[OPERATOR] [WINDOW] [KEY] [@MS]",
    0,
    4,
    _ignored,
    _timer_example,
)
_FIRED: Final = Question(
    "fired",
    "why a window or a timer fired, and why more than once",
    "[OPERATOR] [WINDOW] [KEY] [@MS]",
    0,
    4,
    _fired,
    _fired_example,
)
_ALIGNED: Final = Question(
    "aligned",
    "why the barriers of a checkpoint did not overtake the data of an exchange",
    "[EXCHANGE] [CHECKPOINT]",
    0,
    2,
    _aligned,
    _aligned_example,
)
_CHECKPOINT: Final = Question(
    "checkpoint",
    "how long a checkpoint took and what it waited for, or why it failed",
    "[CHECKPOINT]",
    0,
    1,
    _checkpoint,
    _checkpoint_example,
)
_COMMITTED: Final = Question(
    "committed",
    "when a row of a sink was committed, and with which checkpoint; why it was not, or twice",
    "[SINK] [ROW | WINDOW [KEY]]",
    0,
    3,
    _committed,
    _no_output_example,
)
_RESTART: Final = Question(
    "restart",
    "why tasks were restarted, from what, and what they repeat",
    "[FAILURE]",
    0,
    1,
    _restart,
    _restart_example,
)
_FAILED: Final = Question(
    "failed",
    "why the job failed, or which failures were followed by a restart",
    "",
    0,
    0,
    _failed,
    _no_example,
)
_LATE: Final = Question("late", "why a record was dropped as late, or was not", "[RECORD]", 0, 1, _late, _late_example)
_NO_OUTPUT: Final = Question(
    "no-output",
    "why a sink, window or key has no results",
    "[SINK] [WINDOW] [KEY]",
    0,
    3,
    _no_output,
    _no_output_example,
)
_ORDER: Final = Question(
    "order", "why two records came in their order, or changed it", "RECORD RECORD", 2, 2, _order, _order_example
)
_WAITING: Final = Question(
    "waiting",
    "what a task waits for, up to the task or call that causes it",
    "[TASK]",
    0,
    1,
    _waiting,
    _waiting_example,
)
_STATE: Final = Question(
    "state",
    "why the state of a key has its value, or is empty",
    "[OPERATOR] [STATE] [WINDOW] [KEY]",
    0,
    4,
    _state,
    _state_example,
)
_TIMER: Final = Question(
    "timer",
    "why a timer is there, has fired, was deleted or was dropped",
    "[OPERATOR] [KEY] [@MS] [WINDOW]",
    0,
    4,
    _timer,
    _timer_example,
)
QUESTIONS: Final = {
    question.name: question
    for question in (
        _ALIGNED,
        _CHECKPOINT,
        _COMMITTED,
        _DELETED,
        _FAILED,
        _FIRED,
        _IGNORED,
        _LATE,
        _NO_OUTPUT,
        _ORDER,
        _RESTART,
        _STATE,
        _TIMER,
        _WAITING,
    )
}


def answer(facts: RunFacts, question: str, asked: Asked) -> WhyAnswer:
    """Answers a question by name; raises BadInput."""
    found = QUESTIONS.get(question)
    if found is None:
        raise BadInput(
            f"there is no question {question!r}{did_you_mean(question, QUESTIONS, is_listed=True)}; "
            f"ask one of: {', '.join(QUESTIONS)}"
        )
    if not found.fewest <= len(asked.about) <= found.most:
        wanted = f"is followed by {found.words}" if found.words else "takes no further words"
        got = f"{count_text(len(asked.about), 'word')}: {' '.join(asked.about)}" if asked.about else "none"
        raise BadInput(f"'{question}' {wanted}, got {got}")
    return found.answer(facts, asked)
