"""One async operator, row after row: what came, waits and was got, and the life of every element. Runs in Python workers."""

from __future__ import annotations

from collections import OrderedDict
from functools import reduce
from operator import xor

PUT, INVOKE, RETRY, COMPLETE, FAIL, TIMEOUT, EMIT = range(7)
OPEN, END_INPUT, CLOSE, ARRIVAL, READER, GOT = range(7, 13)
"""ARRIVAL: something came to the head of a chain. READER: there is somebody who reads; GOT: and got a result."""
COLUMNS = (
    "what", "entry", "kind", "timestamp", "fingerprint", "attempt", "rows", "queued", "time_ns", "described", "ordered",
    "legacy", "capacity", "timeout_ms", "retries", "limit", "listens",
)  # fmt: skip
_RECORD, _WATERMARK = 0, 1
_NS_PER_MS = 1_000_000
_MAX = 2**63 - 1
_OUTCOMES = (COMPLETE, FAIL)
Row = dict[str, int]


class Life:
    """All that was told of one element."""

    def __init__(self) -> None:
        self.story: list[int] = []
        self.put: Row = {}
        self.put_at = self.outcome_at = -1
        self.outcome: Row = {}
        self.retried: list[int] = []


class AsyncMachine:
    """Answers are lines of ``law|what is wrong``."""

    def __init__(self) -> None:
        self.at = self.last_put_at = 0
        self.about: Row = {}
        self.lives: dict[int, Life] = {}
        self.expected = self.size = self.last_queued = 0
        self.is_open = self.is_ended = self.is_closed = False
        self.arrival: tuple[int, int, int] | None = None
        self.arrived = False
        self.got: dict[int, list[int]] = {}
        self.left: list[int] = []
        """Entries in the order in which they were emitted, each once."""
        self.doubtful: list[str] = []
        """Calls that only the end of the input can explain."""
        self.ended_at = -1

    def take(self, row: tuple[int, ...]) -> str:
        step = dict(zip(COLUMNS, row, strict=True))
        what = step["what"]
        self.at += 1
        if what > EMIT:
            return "\n".join(self._beside(what, step))
        if not step["described"]:
            judged = what in (PUT, TIMEOUT, EMIT, *_OUTCOMES)
            return "async-once|an operator that nobody knows" if judged else ""
        self.about = step
        life = self.lives.setdefault(step["entry"], Life())
        wrong = [*self._in_queue(what, step), *self._behind_the_end(what)]
        door = {PUT: self._put, INVOKE: self._invoke, RETRY: self._retry, TIMEOUT: self._timeout, EMIT: self._emit}
        wrong += door.get(what, self._outcome)(step, life)
        life.story.append(what)
        return "\n".join(wrong)

    def _beside(self, what: int, step: Row) -> list[str]:
        wrong: list[str] = []
        if what == OPEN:
            self.is_open = True
        elif what == END_INPUT:
            wrong = ["async-end|not empty when its input has ended"] if self.last_queued else []
            if not self.is_ended:
                self.is_ended, self.ended_at = True, self.at
        elif what == CLOSE:
            self.is_closed = True
        elif what == READER:
            self.got[step["entry"]] = []
        elif what == GOT:
            self.got[step["entry"]].append(step["fingerprint"])
        elif not self.is_ended:
            wrong = [] if self.arrival is None else ["async-order|arrived, but was not put"]
            self.arrival, self.arrived = (step["kind"], step["timestamp"], step["fingerprint"]), True
        return wrong

    def _in_queue(self, what: int, step: Row) -> list[str]:
        self.size += (what == PUT) - (what == EMIT)
        if what in (PUT, EMIT):
            self.last_queued = step["queued"]
        sizes = (self.size, self.size - 1) if what in _OUTCOMES else (self.size,)
        fits = step["queued"] in sizes and step["queued"] <= step["capacity"]
        return [] if fits else ["async-capacity|another queue than its movements make"]

    def _behind_the_end(self, what: int) -> list[str]:
        over = (self.is_ended or self.is_closed) and what not in _OUTCOMES
        return ["async-end|something happens behind the end"] if over else []

    def _put(self, step: Row, life: Life) -> list[str]:
        wrong = [] if step["entry"] == self.expected else ["async-order|not the next number"]
        self.expected, self.last_put_at = step["entry"] + 1, self.at
        if not life.put:
            life.put, life.put_at = step, self.at
        # A call that no retry explains was not at the end, when something is put after it.
        wrong += self.doubtful
        self.doubtful = []
        return wrong + (self._arrive(step) if self.is_open and step["listens"] else [])

    def _arrive(self, step: Row) -> list[str]:
        came, self.arrival = self.arrival, None
        number = step["fingerprint"] if step["kind"] == _RECORD else 0
        return [] if came == (step["kind"], step["timestamp"], number) else ["async-order|put, but did not arrive so"]

    def _invoke(self, step: Row, life: Life) -> list[str]:
        attempt = step["attempt"]
        if not life.put or attempt != life.story.count(INVOKE) + 1:
            return ["async-retries|calls that do not count on from the first"]
        if attempt == 1:
            return []
        if not step["retries"] or attempt - 1 > step["limit"] + 1:
            return ["async-retries|more calls than there may be"]
        is_due = attempt - 1 in life.retried and not life.outcome and attempt - 1 <= step["limit"]
        self.doubtful += [] if is_due else ["async-retries|a call that nothing made due"]
        return []

    def _retry(self, step: Row, life: Life) -> list[str]:
        wrong, self.doubtful = self.doubtful, []
        attempt = step["attempt"]
        fits = step["retries"] and attempt == life.story.count(INVOKE) and attempt <= step["limit"]
        over = attempt in life.retried or TIMEOUT in life.story or bool(life.outcome)
        life.retried.append(attempt)
        return wrong if fits and not over else [*wrong, "async-retries|a retry that cannot be"]

    def _outcome(self, step: Row, life: Life) -> list[str]:
        known = bool(life.put) or step["legacy"]
        fits = not life.outcome and step["kind"] == _RECORD and known
        if not life.outcome:
            life.outcome, life.outcome_at = step, self.at
        return [] if fits else ["async-once|an outcome that cannot be"]

    def _timeout(self, step: Row, life: Life) -> list[str]:
        fits = step["timeout_ms"] > 0 and TIMEOUT not in life.story
        if fits and not step["legacy"]:
            due_ms = life.put["time_ns"] // _NS_PER_MS + step["timeout_ms"] if life.put else _MAX
            fits = bool(life.put) and not life.outcome and (due_ms > _MAX or step["time_ns"] // _NS_PER_MS > due_ms)
        return [] if fits else ["async-once|time cannot run out"]

    def _emit(self, step: Row, life: Life) -> list[str]:
        again = EMIT in life.story
        if not again:
            self.left.append(step["entry"])
        put, outcome = life.put, life.outcome
        fits = not again and bool(put) and (put["kind"], put["timestamp"]) == (step["kind"], step["timestamp"])
        if fits and step["kind"] != _RECORD:
            fits = step["rows"] == 0
        elif fits:
            told = (outcome["rows"], outcome["fingerprint"]) if outcome else None
            fits = told is not None and (told[0] < 0 or told == (step["rows"], step["fingerprint"]))
        wrong = [] if fits else ["async-once|emitted again, too early or as something else"]
        for results in self.got.values():
            if (len(results), reduce(xor, results, 0)) != (step["rows"], step["fingerprint"]):
                wrong.append("async-once|somebody got something else")
            results.clear()
        return wrong

    def end(self, whole: bool) -> str:
        wrong = self._in_line() if self.about else []
        if self.is_ended and any(self.got.values()):
            wrong.append("async-once|somebody got what was not emitted")
        if self.is_ended and self.arrival is not None:
            wrong.append("async-order|arrived, but was not put")
        for life in self.lives.values():
            if life.put and self.is_ended and EMIT not in life.story:
                wrong.append("async-once|left in the queue for ever")
            later = self.last_put_at > life.put_at or self.ended_at > life.put_at
            if life.put and life.put["kind"] == _RECORD and INVOKE not in life.story and later:
                wrong.append("async-retries|not called at all")
        return "\n".join(sorted(set(wrong)))

    def _in_line(self) -> list[str]:
        """All that was put stands in line by number; who leaves must have nobody in front whom it may not pass."""
        line = OrderedDict((entry, life.put["kind"]) for entry, life in sorted(self.lives.items()) if life.put)
        segments, marks = dict[int, int](), 0
        for entry, kind in line.items():
            segments[entry] = marks
            marks += kind == _WATERMARK
        by_outcome = not self.about["ordered"] and not self.about["legacy"]
        latest: dict[int, int] = {}
        overtaken = False
        for entry in self.left:
            if entry not in line:
                continue
            kind, outcome_at = line[entry], self.lives[entry].outcome_at
            for other, of_other in line.items():
                if other == entry:
                    break
                overtaken |= bool(self.about["ordered"]) or _WATERMARK in (kind, of_other)
            del line[entry]
            if by_outcome and kind != _WATERMARK and outcome_at >= 0:
                overtaken |= outcome_at < latest.get(segments[entry], -1)
                latest[segments[entry]] = max(outcome_at, latest.get(segments[entry], -1))
        for entry, kind in line.items() if by_outcome else ():
            outcome_at = self.lives[entry].outcome_at
            overtaken |= kind != _WATERMARK and 0 <= outcome_at < latest.get(segments[entry], -1)
        return ["async-order|somebody was passed who was in front"] if overtaken else []
