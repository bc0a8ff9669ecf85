"""``flowsim why aligned``: the reasons of the exchange and of the checkpoint, where barriers waited, and errors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flowsim.errors import BadInput
from tests.unit.why.conftest import Ask, text_of

JOB = """\
flowsim: 1
name: reasons
settings:
  record: full
  segment_size: 128 B
  checkpointing: {interval: 100 ms, unaligned: true}
sources:
  orders:
    chaining: never
    generator: {count: 400, pace: 500 us, fields: {n: {sequence: {}}}}
  rules: {script: {fields: {rule: long}, gap: 10 ms, subtasks: [[{record: [1], step: 0}, {sleep: 2 s}]]}}
operators:
  slow: {input: orders, key_by: "n % 4", parallelism: 2, cost: 2 ms, reduce: {n: sum}}
  ruled:
    input: slow
    partition: rebalance
    parallelism: 2
    broadcast: {to: rules, put: rule, get: n % 2, add: {r: right.rule}, missing: {r: "0"}}
sinks:
  out: {input: ruled, collect: {}}
"""
BY_RULES = "another input of its task supports none: Source: rules -> ruled (BROADCAST)"
SAVEPOINT = "actions=[{savepoint: {at: 120 ms, directory: savepoints}}]"
TIMEOUT = "settings.checkpointing.aligned_timeout="


def test_default_is_the_first_exchange_aligned_by_force(ask: Ask) -> None:
    text = text_of(ask(JOB, "aligned"))
    assert text.startswith("Source: rules -> ruled is aligned in checkpoint")
    assert "its partitioner BROADCAST does not support them. [12.19]" in text


def test_forced_by_another_input_names_it_and_its_own_reason(ask: Ask) -> None:
    answer = ask(JOB, "aligned", "slow -> ruled", "2")
    assert answer.statement.text.startswith("slow -> ruled is aligned in checkpoint 2 by force")
    assert BY_RULES in answer.causes[0].text
    assert answer.causes[1].text.startswith("Source: rules -> ruled is aligned by force")
    assert any("had its first barrier" in cause.text for cause in answer.causes)


def test_exchange_that_supports_unaligned_barriers_says_what_they_overtook(ask: Ask) -> None:
    answer = ask(JOB, "aligned", "orders", "2")
    assert re.search(r"is not aligned in checkpoint 2: its barriers overtook \d+ elements", answer.statement.text)
    assert answer.statement.rules == ("12.18",)


@pytest.mark.parametrize(
    ("override", "reason", "rule"),
    [
        ("settings.checkpointing.unaligned=false", "unaligned checkpoints are not enabled", "12.47"),
        ("settings.checkpointing={interval: 100 ms, mode: at_least_once}", "the checkpointing mode is AT_LEAST_ONCE", "12.16"),
        (TIMEOUT + "10 s", "all exchanges are aligned until the aligned-checkpoint-timeout of 10 s", "12.20"),
    ],
)  # fmt: skip
def test_reason_of_the_whole_checkpoint(ask: Ask, override: str, reason: str, rule: str) -> None:
    text = text_of(ask(JOB, "aligned", "orders", "2", overrides=(override,)))
    assert reason in text
    assert rule in text
    assert "overtook 1" not in text


def test_savepoint_is_aligned_although_checkpoints_are_not(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = [text_of(ask(JOB, "aligned", "orders", str(number), overrides=(SAVEPOINT,))) for number in (1, 2, 3)]
    of_savepoints = [text for text in texts if "is aligned in savepoint" in text]
    assert len(of_savepoints) == 1
    assert "savepoints always are. [12.47]" in of_savepoints[0]


def test_timeout_that_is_over_makes_barriers_unaligned(ask: Ask) -> None:
    text = text_of(ask(JOB, "aligned", "orders", "2", overrides=(TIMEOUT + "5 ms",)))
    assert "Source: orders -> slow is not aligned in checkpoint 2" in text
    assert "became unaligned after it. [12.20, 12.90]" in text


def test_moment_selects_the_checkpoint_and_hides_later_barriers(ask: Ask) -> None:
    whole = ask(JOB, "aligned", "slow -> ruled", "2")
    assert ", not read" not in text_of(whole)
    trigger = re.search(r"written at ([\d.]+) ms", text_of(whole))
    assert trigger is not None
    early = ask(JOB, "aligned", "slow -> ruled", at_ms=float(trigger[1]))
    assert "checkpoint 2" in early.statement.text
    assert ", not read" in text_of(early) or "no barrier was written" in text_of(early)
    assert "no checkpoint was triggered by 1 ms" in text_of(ask(JOB, "aligned", at_ms=1))


@pytest.mark.parametrize(
    ("about", "message"),
    [
        (["slow -> ruld"], "there is no exchange 'slow -> ruld' (did you mean 'slow -> ruled'?)"),
        (["slow"], "'slow' matches 2 exchanges"),
        (["orders", "99"], "there is no checkpoint '99'; the recording has 1 to"),
    ],
)
def test_errors_name_what_there_is(ask: Ask, about: list[str], message: str) -> None:
    with pytest.raises(BadInput, match=re.escape(message)):
        ask(JOB, "aligned", *about)


def test_task_selects_the_exchanges_that_it_reads(ask: Ask) -> None:
    assert ask(JOB, "aligned", task="slow (1/2)").statement.text.startswith("Source: orders -> slow")
    with pytest.raises(BadInput, match="no other task sends to it"):
        ask(JOB, "aligned", task="Source: orders (1/1)")
