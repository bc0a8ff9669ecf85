"""MailboxProcessor and its executors beside the real ones: loops, yields, suspensions, poison, errors (3.11-3.23)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from flowsim.errors import InvariantViolation
from flowsim.mailbox.mail import MAX_PRIORITY, MailFuture, MailOptions
from flowsim.mailbox.task_mailbox import MailboxClosedException, MailboxState, TaskMailbox
from flowsim.task_clock import TaskClock
from flowsim.tasks.mailbox_processor import MailboxProcessor, Suspension
from flowsim.tasks.time_buckets import PeriodTimer
from tests.support.flink.machine import Differential, DifferentialMachine

OPTIONS = {"options": MailOptions.DEFAULT, "urgent": MailOptions.URGENT, "deferrable": MailOptions.DEFERRABLE}
Script = list[tuple[Any, ...]]

options = st.sampled_from(["options", "options", "urgent", "deferrable"])
priorities = st.sampled_from([-1, 0, 1, 2, MAX_PRIORITY])
inside = st.sampled_from([True, True, False])
simple = st.one_of(
    st.tuples(st.just("suspend_default_action"), st.booleans()),
    st.tuples(st.just("resume"), st.integers(0, 3), inside),
    st.tuples(st.just("try_yield"), priorities),
    st.tuples(st.just("yield"), priorities),
    st.tuples(st.sampled_from(["suspend", "all_actions_completed", "report_error"]), inside),
    st.tuples(st.just("raise"), st.booleans()),
)


def mails(scripts: st.SearchStrategy[Script]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.one_of(
        st.tuples(st.just("execute"), priorities, options, inside, scripts),
        st.tuples(st.just("execute"), priorities, options, inside, scripts),
        st.tuples(st.just("submit"), priorities, scripts),
    )


leaves: st.SearchStrategy[Script] = st.lists(simple, max_size=1)
scripts: st.SearchStrategy[Script] = st.lists(
    st.one_of(simple, mails(leaves), mails(st.lists(st.one_of(simple, mails(leaves)), max_size=2))), max_size=3
)
bursts = st.lists(st.tuples(priorities, options, scripts), min_size=1, max_size=3)


class ScriptError(Exception):
    """What a script raises on our side."""


class Commands(Protocol):
    """What a script can do, to the real processor or to ours."""

    def execute(self, priority: int, options: str, name: str, inside: bool) -> None: ...
    def submit(self, priority: int, name: str) -> None: ...
    def try_yield(self, priority: int) -> bool: ...
    def would_wait_for_ever(self, priority: int) -> bool: ...
    def yield_to(self, priority: int) -> None: ...
    def suspend_default_action(self, timed: bool) -> bool: ...
    def resume(self, which: int, inside: bool) -> bool: ...
    def suspend(self, inside: bool) -> None: ...
    def all_actions_completed(self, inside: bool) -> None: ...
    def report_error(self, inside: bool) -> None: ...
    def raise_(self, checked: bool) -> None: ...
    def timer_runs(self) -> bool: ...


class Player:
    """Plays the scripts of mails and default actions on one of the two, and logs what happens."""

    def __init__(self, scripts: dict[str, Script]) -> None:
        self.commands: Commands
        self.scripts = scripts
        """Name of a mail or default action -> what it does; shared by both players."""
        self.log: list[tuple[Any, ...]] = []
        self.names = 0

    def play(self, name: str) -> None:
        self.log.append((name, self.commands.timer_runs()))
        if name.startswith("default") and name not in self.scripts:
            self.commands.suspend(True)
            return
        for action in self.scripts[name]:
            self.log.append((action[0], self.do(action)))

    def do(self, action: tuple[Any, ...]) -> Any:
        commands = self.commands
        match action:
            case ("execute", priority, options, inside, script):
                return commands.execute(priority, options, self.named(script), inside)
            case ("submit", priority, script):
                return commands.submit(priority, self.named(script))
            case ("try_yield", priority):
                return commands.try_yield(priority)
            case ("yield", priority):
                return "nobody comes" if commands.would_wait_for_ever(priority) else commands.yield_to(priority)
            case ("suspend_default_action", timed):
                return commands.suspend_default_action(timed)
            case ("resume", which, inside):
                return commands.resume(which, inside)
            case ("suspend", inside):
                return commands.suspend(inside)
            case ("all_actions_completed", inside):
                return commands.all_actions_completed(inside)
            case ("report_error", inside):
                return commands.report_error(inside)
            case ("raise", checked):
                return commands.raise_(checked)
        raise AssertionError(action)

    def named(self, script: Script) -> str:
        """The same name on both sides, since both come by the same scripts in the same order."""
        name = f"m{self.names}"
        self.names += 1
        self.scripts[name] = script
        return name


class RealCommands:
    def __init__(self, probe: Any) -> None:
        self.probe = probe

    def execute(self, priority: int, options: str, name: str, inside: bool) -> None:
        self.probe.execute(priority, options, name, inside)

    def submit(self, priority: int, name: str) -> None:
        self.probe.submit(priority, name)

    def try_yield(self, priority: int) -> bool:
        return bool(self.probe.tryYield(priority))

    def would_wait_for_ever(self, priority: int) -> bool:
        return bool(self.probe.wouldWaitForEver(priority))

    def yield_to(self, priority: int) -> None:
        self.probe.yieldTo(priority)

    def suspend_default_action(self, timed: bool) -> bool:
        return bool(self.probe.suspendDefaultAction(timed))

    def resume(self, which: int, inside: bool) -> bool:
        return bool(self.probe.resume(which, inside))

    def suspend(self, inside: bool) -> None:
        self.probe.suspend(inside)

    def all_actions_completed(self, inside: bool) -> None:
        self.probe.allActionsCompleted(inside)

    def report_error(self, inside: bool) -> None:
        self.probe.reportThrowable(inside)

    def raise_(self, checked: bool) -> None:
        getattr(self.probe, "raise")(checked)

    def timer_runs(self) -> bool:
        return bool(self.probe.timerRuns())


class Timer(PeriodTimer):
    """Knows whether it runs."""

    __slots__ = ("running",)

    def mark_start(self) -> None:
        super().mark_start()
        self.running = True

    def mark_end(self) -> None:
        super().mark_end()
        self.running = False


class OurCommands:
    """Ours; ``inside`` stands for the thread on which something is done."""

    def __init__(self, player: Player) -> None:
        self.inside = True
        self.player = player
        self.mailbox = TaskMailbox(is_mailbox_thread=lambda: self.inside)
        self.processor = MailboxProcessor(self.default_action, self.mailbox, self.wait_for_mail)
        self.arrivals: deque[list[tuple[int, str, str]]] = deque()
        self.suspensions: list[Suspension] = []
        self.futures: list[MailFuture[None]] = []
        self.defaults = 0

    def default_action(self) -> None:
        number = self.defaults
        self.defaults += 1
        self.player.play(f"default {number}")

    def wait_for_mail(self, priority: int) -> None:
        while not self.mailbox.has_mail_of(priority):
            if not self.arrivals:
                self.suspend(False)
                continue
            for mail in self.arrivals.popleft():
                self.execute(*mail, inside=False)

    def act(self, inside: bool, action: Callable[[], None]) -> None:
        before, self.inside = self.inside, inside
        try:
            action()
        finally:
            self.inside = before

    def execute(self, priority: int, options: str, name: str, inside: bool) -> None:
        executor = self.processor.executor(priority)
        self.act(inside, lambda: executor.execute(lambda: self.player.play(name), name, OPTIONS[options]))

    def submit(self, priority: int, name: str) -> None:
        self.futures.append(self.processor.executor(priority).submit(lambda: self.player.play(name), name))

    def try_yield(self, priority: int) -> bool:
        return self.processor.executor(priority).try_yield()

    def would_wait_for_ever(self, priority: int) -> bool:
        return self.mailbox.state is MailboxState.QUIESCED and not self.mailbox.has_mail_of(priority)

    def yield_to(self, priority: int) -> None:
        self.processor.executor(priority).yield_()

    def suspend_default_action(self, timed: bool) -> bool:
        if self.defaults == 0:
            return False
        timer = Timer(TaskClock(1)) if timed else None
        self.suspensions.append(self.processor.suspend_default_action(timer))
        return True

    def resume(self, which: int, inside: bool) -> bool:
        if which >= len(self.suspensions):
            return False
        self.act(inside, self.suspensions[which].resume)
        return True

    def suspend(self, inside: bool) -> None:
        self.act(inside, self.processor.suspend)

    def all_actions_completed(self, inside: bool) -> None:
        self.act(inside, self.processor.all_actions_completed)

    def report_error(self, inside: bool) -> None:
        self.act(inside, lambda: self.processor.report_error(ScriptError("reported")))

    def raise_(self, checked: bool) -> None:
        raise ScriptError("asked")

    def timer_runs(self) -> bool:
        suspension = self.processor.suspension
        timer = suspension.timer if suspension is not None else None
        return isinstance(timer, Timer) and timer.running

    def seen(self) -> str:
        processor, mailbox, executor = self.processor, self.mailbox, self.processor.executor(1)
        flags = (
            mailbox.state.value,
            len(mailbox),
            mailbox.has_mail,
            processor.is_default_action_available,
            processor.loop_running,
            processor.mails_processed,
            executor.is_idle(),
            executor.should_interrupt(),
            self.timer_runs(),
        )
        done = "".join("c" if f.cancelled else "d" if f.done else "p" for f in self.futures)
        return " ".join(str(flag) if isinstance(flag, str) else str(flag).lower() for flag in flags) + f" {done}"


class MailboxProcessorMachine(DifferentialMachine):
    subject = "MailboxProcessor"
    errors: ClassVar[dict[str, type[BaseException]]] = {
        "MailboxClosedException": MailboxClosedException,
        "RejectedExecutionException": MailboxClosedException,
        "IllegalStateException": InvariantViolation,
        "AssertionError": InvariantViolation,
        "IllegalArgumentException": ScriptError,
        "IOException": ScriptError,
        "WrappingRuntimeException": ScriptError,
    }

    def __init__(self) -> None:
        super().__init__()
        shared: dict[str, Script] = {}
        self.scripts = shared
        self.mine, self.theirs = Player(shared), Player(shared)
        self.ours = self.mine.commands = OurCommands(self.mine)
        callback = self.flink.implement("flowsim.differential.Processors$Script", run=self.theirs.play)
        self.probe = self.flink.java.flowsim.differential.Processors(callback)
        self.theirs.commands = RealCommands(self.probe)
        self.next_default = 0

    def command(self, real: Callable[[], Any], ours: Callable[[], Any]) -> None:
        """One command on both; then what ran meanwhile, and what can be seen, must be the same."""
        before = len(self.theirs.log)
        self.both(real, ours)
        self.equal(self.theirs.log, self.mine.log)
        self.equal(self.probe.seen(), self.ours.seen())
        self.compared(len(self.theirs.log) - before)

    @initialize(defaults=st.lists(scripts, min_size=1, max_size=4), arrivals=st.lists(bursts, max_size=3))
    def begin(self, defaults: list[Script], arrivals: list[list[tuple[int, str, Script]]]) -> None:
        for script in defaults:
            self.next_default_action(script)
        for burst in arrivals:
            self.next_arrivals(burst)

    @rule(script=scripts)
    def next_default_action(self, script: Script) -> None:
        """Default actions without a script suspend the loop."""
        self.next_default = max(self.next_default, self.ours.defaults)
        self.scripts[f"default {self.next_default}"] = script
        self.next_default += 1

    @rule(burst=bursts)
    def next_arrivals(self, burst: list[tuple[int, str, Script]]) -> None:
        """What neighbours put the next time the task waits."""
        named = [(priority, options, self.arriving(script)) for priority, options, script in burst]
        self.ours.arrivals.append(named)
        self.probe.arrival(",".join(f"{options} {priority} {name}" for priority, options, name in named))

    def arriving(self, script: Script) -> str:
        name = f"a{len(self.scripts)}"
        self.scripts[name] = script
        return name

    @rule(action=mails(scripts))
    def put(self, action: tuple[Any, ...]) -> None:
        self.command(lambda: self.theirs.do(action), lambda: self.mine.do(action))

    @rule(action=simple.filter(lambda action: action[0] not in ("yield", "raise")))
    def act(self, action: tuple[Any, ...]) -> None:
        self.command(lambda: self.theirs.do(action), lambda: self.mine.do(action))

    @rule()
    def step(self) -> None:
        self.command(self.probe.step, self.ours.processor.run_mailbox_step)

    @rule()
    def single_loop(self) -> None:
        self.command(self.probe.singleLoop, self.ours.processor.run_single_mailbox_loop)

    @rule()
    def loop(self) -> None:
        self.command(self.probe.loop, self.ours.processor.run_mailbox_loop)

    @rule()
    def drain(self) -> None:
        self.command(self.probe.drain, self.ours.processor.drain)

    @precondition(lambda self: self.mine.names > 20)
    @rule()
    def prepare_close(self) -> None:
        self.command(self.probe.prepareClose, self.ours.processor.prepare_close)

    @precondition(lambda self: self.mine.names > 24)
    @rule()
    def close(self) -> None:
        self.command(self.probe.close, self.ours.processor.close)


def test_order_of_mails_and_default_actions_equals_flinks(differential: Differential) -> None:
    differential.run(MailboxProcessorMachine, examples=80, steps=30)
