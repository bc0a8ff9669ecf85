"""The gateway to the real Flink: threads, errors, private members, many calls at once."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JJavaError

from tests.support.flink.gateway import Flink, Thrown, Throws, thrown

MAILBOX = "org.apache.flink.streaming.runtime.tasks.mailbox.TaskMailboxImpl"


def mailbox(flink: Flink) -> object:
    return flink.java.org.apache.flink.streaming.runtime.tasks.mailbox.TaskMailboxImpl()


def test_callback_that_calls_java_stays_on_its_thread(flink: Flink) -> None:
    real = mailbox(flink)
    supplier = flink.implement("java.util.function.Supplier", get=lambda: real.isMailboxThread())
    assert flink.java.java.util.Objects.requireNonNullElseGet(None, supplier) is True


def test_callback_can_throw_java_exception(flink: Flink) -> None:
    def refuse() -> None:
        raise Throws("java.lang.IllegalArgumentException", "not this one")

    with pytest.raises(Py4JJavaError) as caught:
        flink.java.java.util.Objects.requireNonNullElseGet(
            None, flink.implement("java.util.function.Supplier", get=refuse)
        )
    assert repr(thrown(caught.value)) == "IllegalArgumentException('not this one')"


def test_many_calls_take_one_round_trip_with_separate_answers(flink: Flink) -> None:
    real = mailbox(flink)
    *answers, refused = flink.calls(
        real, "size", ("tryTake", -1), "drain", "getState", "close", "getState", "tryTakeFromBatch"
    )
    assert answers == [0, None, [], "OPEN", [], "CLOSED"]
    assert isinstance(refused, Thrown)
    assert refused.name == "MailboxClosedException"


def test_private_members_are_accessible(flink: Flink) -> None:
    real = flink.new(MAILBOX, ["java.lang.Thread"], flink.java.java.lang.Thread.currentThread())
    assert flink.field(MAILBOX, "hasNewMail", real) is False
    flink.set_field(MAILBOX, "hasNewMail", real, True)
    assert flink.field(MAILBOX, "hasNewMail", real) is True
    assert flink.method(MAILBOX, "checkPutStateConditions")(real) is None


def test_boxed_long_stays_a_long(flink: Flink) -> None:
    arrays = flink.java.java.util.Arrays
    assert arrays.deepHashCode(flink.boxed("Long", -1)) != arrays.deepHashCode(flink.boxed("Integer", -1))
