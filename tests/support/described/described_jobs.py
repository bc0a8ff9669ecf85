"""Whole jobs from a description, built with the DataStream API; Java builds the same ones from it (``DescribedJob``).

A description is JSON:

``kind``             what the operator is: pass, window, timers, state, reduce, interval_join, window_join, co_group,
                     co_map, co_flat_map, co_process, keyed_co_process, broadcast, keyed_broadcast, async
``sources``          each with ``scripts`` (per subtask entries [step, "r", number, key, value, timestamp, orders, split],
                     [step, "w", timestamp, split], [step, "i", split], [step, "end_split", split], [step, "end"]),
                     ``strategy`` (watermarks of its own, or null), ``via`` ("function": an old source, with the strategy
                     in an operator behind it; "source": a new one, whose records may belong to splits), ``before``
                     (functions chained to it) and ``legacy`` (which of our two kinds of task plays an old source)
``inputs``           per input of the operator the sources that are united there, one of them perhaps twice
``parallelism``, ``max_parallelism``, ``chaining``, ``key_type``, ``after`` (functions behind the operator)
``edges``            per input of an operator without keys: none (what the API does by itself), forward, rebalance, rescale,
                     global, broadcast or custom; ``out_edge`` is the edge to the probes, of which there are
                     ``probe_parallelism``
``network``          ``buffer_timeout_ms`` (-1: never), ``spread`` (several task managers, so that channels are remote),
                     ``exclusive`` buffers per channel and ``floating`` ones per gate, ``apart`` (there: the sources get
                     slots of their own)
``compare``          "all": every probe sees everything in one order; "channels": tasks read several channels in no
                     determined order, and only what comes through one channel has one
``cost_ns``          what a record costs here; 0 where time must be the same to the nanosecond
``probe_cost_ns``    what a record costs at the probes, on both sides; 0: as everywhere
``steps``            how many steps order the entries over all sources: one happens when all before it are done
                     everywhere. 0: a single script that plays as fast as it can
``manual_time``      processing time is ``gap_ms`` per step, the same here and there; without it the job does not use it
``auto_watermark_interval_ms``

Everything else belongs to the kind. A run answers what the probes behind the outputs saw, per output and subtask.
"""

from __future__ import annotations

import json
from random import Random
from unittest.mock import patch

from flowsim.cluster import partitioners
from flowsim.datastream import DataStream, KeyedStream, StreamExecutionEnvironment
from flowsim.network.writers.partitioner import RebalancePartitioner
from flowsim.operators.stream_operator import StreamOperator
from flowsim.streamrecord.elements import WatermarkStatus
from tests.support.described import described_async, described_broadcasts, described_joins, described_windows
from tests.support.described import described_functions as functions
from tests.support.described.described_streams import Inputs, Job, after, exchanged

Log = dict[str, list[list[object]]]
"""What arrived, by ``output/subtask``: ["rec", value, timestamp], ["wm", timestamp] or ["st", status]; and how the
functions of async operators were called, by ``calls<stage>/subtask``: ["invoke" or "timeout", number, attempt].
"""


class Probe(StreamOperator):
    """Notes every element in order of arrival, and hands it on."""

    def __init__(self, name: str, log: Log) -> None:
        self.name = name
        self.seen = log

    def note(self, *element: object) -> None:
        noted = json.loads(json.dumps(element))
        self.seen.setdefault(f"{self.name}/{self.ctx.subtask_index}", []).append(noted)

    def process_element(self, value: object, timestamp: int | None) -> None:
        self.records_in += 1
        is_event = isinstance(value, tuple) and len(value) == 4
        self.note("rec", value[:3] if is_event else value, timestamp)  # type: ignore[index]
        self.output.collect(value, timestamp)

    def process_watermark(self, timestamp: int) -> None:
        self.note("wm", timestamp)
        self.output.emit_watermark(timestamp)

    def process_watermark_status(self, status: WatermarkStatus) -> None:
        self.note("st", status.name)
        self.output.emit_watermark_status(status)


def outputs(inputs: Inputs, job: Job, log: Log) -> dict[str, DataStream]:
    """The outputs of the operator by name."""
    match job["kind"]:
        case "window":
            return described_windows.build(inputs, job)
        case "interval_join":
            return described_joins.interval(inputs, job)
        case "window_join" | "co_group":
            return described_joins.windowed(inputs, job)
        case "async":
            return described_async.build(inputs, job, log)
        case "broadcast" | "keyed_broadcast":
            return described_broadcasts.build(inputs, job)
        case "pass":
            return {"out": inputs.keyed(0) if job["keyed"] else inputs.exchanged(0)}
        case "timers":
            made = inputs.keyed(0).process(functions.Timers())
        case "state":
            made = inputs.keyed(0).process(functions.States())
        case "reduce":
            return {"out": reduced(inputs.keyed(0), job).set_parallelism(job["parallelism"])}
        case "keyed_co_process":
            made = inputs.keyed(0).connect(inputs.keyed(1)).process(functions.KeyedBoth())
        case _:
            made = connected(inputs, job)
    out = {"out": after(made, job)}
    if job["kind"] in ("timers", "co_process"):
        out["side"] = made.get_side_output(functions.SIDE)
    return out


def reduced(stream: KeyedStream, job: Job) -> DataStream:
    match job["how"]:
        case "sum":
            return stream.sum(2)
        case "min":
            return stream.min(2)
        case "max":
            return stream.max(2)
        case "min_by":
            return stream.min_by(2, first=job["first"])
        case "max_by":
            return stream.max_by(2, first=job["first"])
        case _:
            return stream.reduce(functions.latest_with_sum)


def connected(inputs: Inputs, job: Job) -> DataStream:
    first, second = (inputs.keyed(index) if job["keyed"] else inputs.exchanged(index) for index in (0, 1))
    both = first.connect(second)
    match job["kind"]:
        case "co_map":
            return both.map(functions.CoMapping())
        case "co_flat_map":
            return both.flat_map(functions.CoFlatMapping())
        case "co_process":
            return both.process(functions.Both())
    raise ValueError(f"unknown kind {job['kind']!r}")


class FromFirstChannel(RebalancePartitioner):
    """Starts with the first channel, as its Java twin does: Flink draws where to start, and so does flowsim."""

    __slots__ = ()

    def __init__(self, channels: int, chance: Random) -> None:
        super().__init__(channels, chance)
        self._last = channels - 1


def run(job: Job, log: Log, **run_settings: object) -> None:
    """Adds to ``log`` what the probes of the job see here; raises JobFailed."""
    network = job["network"]
    env = StreamExecutionEnvironment.get_execution_environment().set_buffer_timeout(network["buffer_timeout_ms"])
    # Without ``spread`` all tasks run in one task manager, and all channels are local.
    env.configure(
        auto_watermark_interval_ms=job["auto_watermark_interval_ms"],
        task_managers="each" if network["spread"] else "one",
        exclusive_buffers_per_channel=network["exclusive"],
        floating_buffers_per_gate=network["floating"],
        cost_ns=job["cost_ns"],
    )
    env.flowsim_settings(**run_settings)
    if not job["chaining"]:
        env.disable_operator_chaining()
    if job["max_parallelism"] is not None:
        env.set_max_parallelism(job["max_parallelism"])
    for name, stream in outputs(Inputs(env, job), job, log).items():
        behind = exchanged(stream, job["out_edge"])
        probe = behind.transform(name, lambda name=name: Probe(name, log))  # type: ignore[misc]
        probe.set_parallelism(job["probe_parallelism"])
        if job["probe_cost_ns"]:
            probe.cost(job["probe_cost_ns"])
    with patch.object(partitioners, "RebalancePartitioner", FromFirstChannel):
        env.execute()
