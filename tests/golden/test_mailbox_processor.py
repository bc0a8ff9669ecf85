"""MailboxProcessor runs mails and default actions in the order of the real one (rules 3.11-3.23)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowsim.mailbox.mail import MailOptions
from flowsim.mailbox.task_mailbox import TaskMailbox
from flowsim.tasks.mailbox_processor import MailboxProcessor, Suspension
from tests.support.flink.golden import cases

OPTIONS = {"plain": MailOptions.DEFAULT, "urgent": MailOptions.URGENT, "deferrable": MailOptions.DEFERRABLE}


class Play:
    """A processor whose mails and default actions follow the scripts of one case, and what they logged."""

    def __init__(self, defaults: list[list[Any]]) -> None:
        self.log: list[list[Any]] = []
        self.suspensions: list[Suspension] = []
        self.defaults = defaults
        self.default_number = 0
        self.processor = MailboxProcessor(self.default_action, TaskMailbox(), _no_mail_arrives)

    def default_action(self) -> None:
        number = self.default_number
        self.default_number += 1
        self.log.append(["default", number])
        self.do(self.defaults[number])

    def put(self, mail: dict[str, Any]) -> None:
        executor = self.processor.executor(mail["prio"])
        executor.execute(self.runner(mail), mail["name"], OPTIONS[mail["opt"]])

    def runner(self, mail: dict[str, Any]) -> Callable[[], None]:
        def run() -> None:
            self.log.append(["mail", mail["name"]])
            self.do(mail["actions"])

        return run

    def do(self, actions: list[list[Any]]) -> None:
        for action in actions:
            match action:
                case ["put", mail]:
                    self.put(mail)
                case ["suspend"]:
                    self.suspensions.append(self.processor.suspend_default_action())
                    self.log.append(["suspended"])
                case ["resume"]:
                    self.resume(1)
                case ["resume_all"]:
                    self.resume(len(self.suspensions))
                case ["try_yield", priority]:
                    self.log.append(["yield", priority])
                    self.log.append(["yielded", self.processor.executor(priority).try_yield()])
                case ["all_actions_completed"]:
                    self.processor.all_actions_completed()
                    self.log.append(["completed"])
                case _:
                    raise AssertionError(f"unknown action {action}")

    def resume(self, most: int) -> None:
        for _ in range(min(most, len(self.suspensions))):
            self.suspensions.pop().resume()
            self.log.append(["resumed"])


def _no_mail_arrives(priority: int) -> None:
    raise AssertionError(f"waits for a mail of priority {priority}, but nobody else puts one")


def test_every_step_runs_same_mail_or_default_action_as_flink() -> None:
    steps = 0
    for case in cases("component/mailbox_processor"):
        play = Play(case["defaults"])
        for command, expected in zip(case["cmds"], case["out"], strict=True):
            play.log.clear()
            for mail in command["put"]:
                play.put(mail)
            if command["cmd"] == ["external_resume"]:
                play.suspensions.pop().resume()
                result = None
            else:
                result = play.processor.run_mailbox_step()
            assert {
                "res": result,
                "err": None,
                "log": play.log,
                "default_available": play.processor.is_default_action_available,
                "has_mail": play.processor.mailbox.has_mail,
            } == expected, (case["id"], steps)
            steps += 1
    assert steps == 4_986


def test_every_loop_runs_to_completion_and_drains_as_flink() -> None:
    loops = 0
    for case in cases("component/mailbox_processor_loop"):
        play = Play(case["defaults"])
        for mail in case["initial"]:
            play.put(mail)
        play.processor.run_mailbox_loop()
        assert play.log == case["log"], case["id"]
        play.log.clear()
        play.processor.drain()
        assert play.log == case["drain_log"], case["id"]
        loops += 1
    assert loops == 300
