"""``flowsim why``: what keeps a sender from sending although it has credits, and which checkpoint a task waits for."""

from __future__ import annotations

import flowsim
from flowsim.history.channel_flow import flow_of
from flowsim.units import NS_PER_MS
from flowsim.why.run_facts import RunFacts
from tests.unit.why.conftest import Ask, Recorded, text_of

ALIGNED = """\
flowsim: 1
name: aligned
settings:
  record: full
  segment_size: 128 B
  max_buffers_per_channel: 2
  overdraft_buffers: 0
  checkpointing: {interval: 100 ms, async_duration: 15 ms}
sources:
  orders:
    generator:
      count: 300
      pace: 500 us
      fields: {n: {sequence: {}}, k: {choice: {values: [a, b]}}, at_ms: {event_time: {step: 10 ms}}}
    watermarks: {timestamp: at_ms}
operators:
  counts: {input: orders, key_by: k, parallelism: 2, window: {tumbling: 300 ms}, aggregate: {c: count()}, cost: 3 ms}
sinks: {out: {input: counts, chaining: never, collect: {}}}
"""
RESTORED = """\
flowsim: 1
name: restored
settings:
  record: full
  segment_size: 128 B
  max_buffers_per_channel: 3
  checkpointing: {interval: 40 ms, unaligned: true}
  restart_strategy: {fixed_delay: {delay: 40 ms, attempts: 5}}
sources:
  orders: {generator: {count: 150, pace: 200 us, fields: {n: {sequence: {}}, k: {choice: {values: [a, b, c]}}}}}
operators:
  heavy: {input: orders, key_by: k, parallelism: 2, sum: n, cost: 2 ms}
sinks: {out: {input: heavy, partition: global, parallelism: 1, cost: 1 ms, collect: {}}}
failures: [{fail_task: {task: heavy, at: 140 ms}}]
"""
TWO_PACES = """\
flowsim: 1
name: paces
settings: {record: full, segment_size: 128 B, buffer_timeout: 0, checkpointing: {interval: 30 ms}}
sources:
  fast: {generator: {count: 100, pace: 2 ms, fields: {n: {sequence: {}}}}}
  slow: {generator: {count: 100, pace: 1 ms, fields: {n: {sequence: {}}}}}
operators:
  heavy: {input: slow, chaining: never, map: {add: {a: n}}, cost: 4 ms}
  light: {input: fast, chaining: never, map: {add: {a: n}}}
  both: {input: [light, heavy], partition: rebalance, parallelism: 1, filter: n >= 0}
sinks: {out: {input: both, collect: {}}}
"""
SPILLED = """\
flowsim: 1
name: spilled
settings: {record: full, segment_size: 256 B, restart_strategy: {fixed_delay: {delay: 10 ms, attempts: 3}}}
sources:
  orders:
    generator: {count: 60, pace: 1 ms, fields: {n: {sequence: {}}, at_ms: {event_time: {step: 10 ms}}}}
    watermarks: {timestamp: at_ms}
operators:
  piped: {input: orders, chaining: never, cost: 1 ms, map: {add: {m: n}}}
  spilled: {input: piped, exchange: blocking, chaining: never, parallelism: 2, partition: rebalance, cost: 1 ms, filter: n >= 0}
sinks: {out: {input: spilled, chaining: never, collect: {}}}
failures: [{fail_task: {task: spilled, at: 80 ms}}]
"""


def test_sender_that_has_sent_a_barrier_sends_nothing_although_it_has_credits(ask: Ask) -> None:
    """Rule 5.27: the sender stops at the barrier, before the receiver has read it."""
    text = text_of(ask(ALIGNED, "waiting", "Source: orders (1/1)", at_ms=100))
    assert (
        "Source: orders (1/1) has sent the barrier of checkpoint 1, which it queued at 53.002 ms. Behind it, Source: orders "
        "(1/1) sends nothing until a request to resume the channel arrives, which counts (2/2) sends when its alignment has "
        "ended. [5.27, 12.11]"
    ) in text
    assert "2 credits" in text
    assert "so it can send its buffers" not in text


def test_sender_behind_restored_output_waits_for_the_end_of_it(ask: Ask) -> None:
    """Rule 12.95: the end of restored output blocks a channel until all channels of the gate delivered it."""
    text = text_of(ask(RESTORED, "no-output", "out", at_ms=188.5))
    assert "heavy (1/2) has sent the end of the output that it restored, which it queued at 180.402 ms." in text
    assert "which Sink: out (1/1) sends when it has read that far on all its channels. [5.27, 12.92]" in text


def test_receiver_that_reads_restored_data_has_not_requested_its_channels(ask: Ask) -> None:
    """Rule 12.92: it does not lack a credit, which it grants with the request."""
    text = text_of(ask(RESTORED, "no-output", "out", at_ms=185))
    assert (
        "2 elements of heavy (1/2) wait in the sender's queue: Sink: out (1/1) has not requested this channel so far."
        in text
    )


def test_task_that_waits_for_its_final_checkpoint_leads_to_the_task_that_delays_it(ask: Ask) -> None:
    """Checkpoint 3 is triggered only when checkpoint 2, which a slow task has not acknowledged, is complete."""
    causes = ask(TWO_PACES, "waiting", "Source: fast (1/1)", at_ms=300).causes
    assert causes[1].text == (
        "Checkpoint 2 is in progress since 124.001 ms: 2 of 5 tasks have not acknowledged it so far. It is complete at "
        "400.077 ms."
    )
    assert causes[1].details == (
        "heavy (1/1): no snapshot so far, acknowledges it at 400.001 ms",
        "both (1/1): no snapshot so far, acknowledges it at 400.077 ms",
    )
    assert causes[2].text.startswith("heavy (1/1) is busy")


def test_reader_of_a_blocking_exchange_that_restarted_reads_the_whole_partition(recorded: Recorded) -> None:
    """The first attempt of the reader took buffers, which are still in the partition."""
    whole = RunFacts(flowsim.open_recording(recorded(SPILLED)))
    restart_ns = whole.graph.history.restarts[-1].time_ns
    (piped,) = whole.names.find_tasks("piped (1/1)")
    for at_ms in range(60):
        facts = whole.until(restart_ns + at_ms * NS_PER_MS // 2)
        for channel in facts.graph.sent_by(piped):
            flow = flow_of(facts, channel)
            assert min(flow.queued, flow.unsent, flow.wire, flow.held) >= 0


def test_tasks_that_had_finished_count_as_acknowledged(ask: Ask) -> None:
    """Rule 12.35: they take part without a barrier."""
    short = TWO_PACES.replace(
        "operators:", "  brief: {generator: {count: 2, pace: 1 ms, fields: {n: {sequence: {}}}}}\noperators:", 1
    ).replace("sinks: {", "sinks: {rest: {input: brief, chaining: never, collect: {}}, ")
    causes = ask(short, "waiting", "Source: fast (1/1)", at_ms=300).causes
    progress = next(cause for cause in causes if "is in progress since" in cause.text)
    assert ": 2 of 8 tasks have not acknowledged it so far" in progress.text
    assert len(progress.details) == 2
