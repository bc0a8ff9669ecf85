"""The job of ``flowsim.jobs.ScriptedChain`` in flowsim: a chain of operators that follow scripts, and a slow sink."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

from flowsim.cluster.job_execution import JobExecutionResult
from flowsim.connectors.script import Entry, RecordEntry, WatermarkEntry
from flowsim.mailbox.mail import MailOptions
from flowsim.mailbox.mailbox_executor import MailboxExecutor
from flowsim.operators.keyed_operator import KeyedOperator
from flowsim.operators.stream_operator import OperatorContext, StreamOperator
from flowsim.streamrecord.output import Output
from flowsim.timers.internal_time_service_manager import no_window
from flowsim.timers.internal_timer import InternalTimer
from flowsim.units import NS_PER_MS
from tests.support.jobs.small_jobs import SmallJob, by_key

Case = dict[str, Any]
"""``source``: what it emits; ``operators``: per operator of the chain, name of an event -> the actions that follow it."""
Actions = list[list[Any]]

BLOCKS = 200
"""Rounds of so many records or more fill the output."""
OPTIONS = {"options": MailOptions.DEFAULT, "urgent": MailOptions.URGENT, "deferrable": MailOptions.DEFERRABLE}
FILLER = "x" * 1000


class Scripted:
    """What an operator of the chain does, whether it is the keyed first one or another."""

    def __init__(self, number: int, script: dict[str, Actions], log: list[str]) -> None:
        self.number = number
        self.script = script
        self.events = log
        self.executors: dict[int, MailboxExecutor] = {}
        """Of all operators of the chain, by number."""
        self.operator: StreamOperator
        self.register_event_timer: Callable[[int], None]

    def log(self, event: str) -> None:
        self.events.append(f"op{self.number} {event}")

    def play_as(self, name: str, actions: Actions) -> None:
        self.log(f"begin {name}")
        for action in actions:
            self.play(action)
        self.log(f"end {name}")

    def play(self, action: list[Any]) -> None:
        match action:
            case ["forward", value]:
                self.operator.output.collect(value, None)
            case ["emit", name, count]:
                self.log(f"emits {name}")
                for _ in range(count):
                    self.operator.output.collect(f"{name} {count} {FILLER}", None)
                self.log(f"emitted {name}")
            case ["mail", target, options, name, actions]:
                described = f"mail {name}"
                self.executors[target].execute(lambda: self.play_as(described, actions), described, OPTIONS[options])
            case ["timer", delay_ms, name, actions]:
                service = self.operator.ctx.processing_time
                at_ms = service.current_processing_time_ms() + delay_ms
                service.register_timer(at_ms, lambda _: self.play_as(f"timer {name}", actions))
            case ["event_timer", timestamp]:
                self.register_event_timer(timestamp)
            case ["yield"]:
                self.executors[self.number].yield_()
                self.log("yielded")
            case ["try_yield"]:
                self.log(f"yielded {str(self.executors[self.number].try_yield()).lower()}")
            case _:
                raise AssertionError(action)


class ScriptedOperator(StreamOperator):
    def __init__(self, scripted: Scripted) -> None:
        self.scripted = scripted

    def setup(self, ctx: OperatorContext, output: Output) -> None:
        super().setup(ctx, output)
        self.scripted.operator = self
        executor = ctx.mailbox_executor
        assert isinstance(executor, MailboxExecutor)
        self.scripted.executors[self.scripted.number] = executor

    def process_element(self, value: object, timestamp: int | None) -> None:
        self.records_in += 1
        self.scripted.play_as(f"element {value}", self.scripted.script.get(str(value), []))

    def process_watermark(self, timestamp: int) -> None:
        self.scripted.log(f"begin watermark {timestamp}")
        super().process_watermark(timestamp)
        self.scripted.log(f"end watermark {timestamp}")

    def finish(self) -> None:
        self.scripted.log("finish")


class KeyedScriptedOperator(ScriptedOperator, KeyedOperator):
    """The first of the chain; it has event-time timers of the one key."""

    def setup(self, ctx: OperatorContext, output: Output) -> None:
        super().setup(ctx, output)
        self.timers = self.time_services.internal_timer_service("timers", self, no_window)
        self.scripted.register_event_timer = lambda timestamp: self.timers.register_event_time_timer(None, timestamp)

    def process_element(self, value: object, timestamp: int | None) -> None:
        self.set_current_key("key", "key")
        super().process_element(value, timestamp)

    def on_event_time(self, timer: InternalTimer) -> None:
        name = f"event timer {timer.timestamp}"
        self.scripted.play_as(name, self.scripted.script.get(name, []))

    def on_processing_time(self, timer: InternalTimer) -> None:
        raise AssertionError("the script registers none")


class Sink(StreamOperator):
    """Notes when the round changes, and watermarks; each record takes a millisecond."""

    def __init__(self, log: list[str]) -> None:
        self.log = log
        self.last: str | None = None

    def process_element(self, value: object, timestamp: int | None) -> None:
        self.clock.now_ns += self.cost_ns
        self.records_in += 1
        name = str(value).split(" ")[0]
        if name != self.last:
            self.last = name
            self.log.append(name)

    def process_watermark(self, timestamp: int) -> None:
        self.log.append(f"watermark {timestamp}")


def entry(words: list[Any]) -> Entry:
    return WatermarkEntry(words[1]) if words[0] == "w" else RecordEntry(words[1], words[2])


def one_key(value: object) -> str:
    return "key"


def run(case: Case, **options: object) -> tuple[dict[str, list[str]], JobExecutionResult]:
    """The logs of the chain and the sink, as the real job writes them, and the result of the run."""
    logs: dict[str, list[str]] = {"chain": [], "sink": []}
    executors: dict[int, MailboxExecutor] = {}
    job = SmallJob(segment_size_bytes=4096, buffer_timeout_ms=0, cost_ns=0)
    before = job.script([entry(words) for words in case["source"]])
    for number, script in enumerate(case["operators"], start=1):
        part = Scripted(number, script, logs["chain"])
        part.executors = executors
        if number == 1:
            make, settings = partial(KeyedScriptedOperator, part), {"by": by_key(one_key), "chain": False}
            settings |= {"key_selector": one_key, "key_type": "STRING"}
        else:
            make, settings = partial(ScriptedOperator, part), {}
        before = job.operator(before, f"op{number}", "scripted", make, **settings)  # type: ignore[arg-type]
    sink = partial(Sink, logs["sink"])
    job.operator(before, "sink", "sink", sink, by="REBALANCE", chain=False, cost_ns=NS_PER_MS)
    return logs, job.run(**options)


class Writer:
    """Draws cases in which Flink determines every order.

    What depends on how fast the sink is, is left out. A mail that a mail puts runs before or after the next element, and
    so do the normal mails where a yield took urgent ones out of the queue before. A mail that yields may run the control
    mail that ends a suspension. Timers are registered right before something that fills the output, so that all are due
    when it goes on.
    """

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.names = 0
        self.yielding = chance.random() < 0.7

    def name(self, kind: str) -> str:
        self.names += 1
        return f"{kind}{self.names}"

    def case(self) -> Case:
        operators: list[dict[str, Actions]] = [{} for _ in range(self.chance.randint(2, 3))]
        source: list[list[Any]] = []
        for number in range(self.chance.randint(2, 4)):
            value = str(number)
            source.append(["r", value, number])
            operators[0][value] = self.element(operators, 1, fills=True)
        if self.chance.random() < 0.6:
            self.event_timers(operators)
            source.append(["w", 1000])
            source.append(["r", "after", 1001])
            operators[0]["after"] = self.mails(operators, 1)
        return {"source": source, "operators": operators}

    def event_timers(self, operators: list[dict[str, Actions]]) -> None:
        """The watermark fires them in one go, however often they block; mails that they put come after it."""
        for timestamp in self.chance.sample(range(10, 900), self.chance.randint(1, 3)):
            operators[0]["0"].insert(0, ["event_timer", timestamp])
            actions = self.element(operators, 1, fills=self.chance.random() < 0.7)
            operators[0][f"event timer {timestamp}"] = actions

    def element(self, operators: list[dict[str, Actions]], number: int, fills: bool) -> Actions:
        """What operator ``number`` does with an element: mails, timers, the next operator, mails, yields."""
        actions = self.mails(operators, number) + self.yields()
        if fills and number == len(operators):
            actions += self.timers()
        if number < len(operators):
            value = self.name("v")
            operators[number][value] = self.element(operators, number + 1, fills)
            actions.append(["forward", value])
        else:
            actions.append(["emit", self.name("r"), self.chance.randint(BLOCKS, 250) if fills else 3])
        return actions + self.mails(operators, number) + self.yields()

    def mails(self, operators: list[dict[str, Actions]], putting: int) -> Actions:
        return [
            [
                "mail",
                self.chance.randint(1, len(operators)),
                self.options(),
                self.name("m"),
                self.inside(operators, putting),
            ]
            for _ in range(self.chance.choice([0, 0, 1, 2, 3]))
        ]

    def inside(self, operators: list[dict[str, Actions]], putting: int) -> Actions:
        """A mail's own actions are those of the operator that put it: only the last one can fill the output."""
        if self.chance.random() < 0.2 and putting == len(operators):
            return [["emit", self.name("r"), self.chance.choice([2, BLOCKS + 20])]]
        return []

    def timers(self) -> Actions:
        delays = sorted(self.chance.sample(range(1, 12, 2), self.chance.choice([0, 1, 2, 3])))
        return [["timer", delay, self.name("t"), []] for delay in delays]

    def yields(self) -> Actions:
        return [["try_yield"] for _ in range(self.chance.choice([0, 0, 0, 1, 2]))] if self.yielding else []

    def options(self) -> str:
        return self.chance.choice(["options", "deferrable"] if self.yielding else ["options", "urgent", "deferrable"])
