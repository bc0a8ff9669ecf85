"""Measures W1 on flowsim and on its alternatives, other jobs, and the wiring of channels: `make bench`.

`make bench QUICK=1` ends within a minute; `make bench COMPARE=REV` compares with a revision; `make bench APPEND=1` adds
the figures to docs/benchmarks.jsonl. Where the extra `flink` and a JDK are installed, W1 also runs on the real Flink.

CPU seconds, medians of interleaved rounds, every result verified. The ratios say something, the absolute figures are
those of this machine at this moment.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable

import baselines
import flink_w1
import flowsim_variants
import history
import wiring
from jobs import JOBS, MeasuredJob, measure_jobs
from rich.console import Console
from rich.table import Table
from rounds import Measured, WrongResult, measure
from wiring import WiringCost
from workload import Variant

from flowsim.compiled_modules import execution_mode

ALL_VARIANTS: tuple[Variant, ...] = (*baselines.VARIANTS, *flowsim_variants.VARIANTS)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer records and rounds: ends within 40 seconds")
    parser.add_argument("--records", type=int, help="records of W1 (default 300000, quick 100000)")
    parser.add_argument("--rounds", type=int, help="interleaved rounds (default 7, quick 5)")
    parser.add_argument("--only", metavar="TEXT", help="only the variants whose name contains TEXT, and the bare loop")
    parser.add_argument("--no-jobs", action="store_true", help="skip the other jobs")
    parser.add_argument("--no-flink", action="store_true", help="skip the real Flink")
    parser.add_argument("--no-wiring", action="store_true", help="skip the wiring of channels")
    parser.add_argument("--append", action="store_true", help="also adds the figures to docs/benchmarks.jsonl")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    chosen = parser.parse_args()
    chosen.records = chosen.records or (100_000 if chosen.quick else 300_000)
    chosen.rounds = chosen.rounds or (5 if chosen.quick else 7)
    return chosen


def ns_per_fact(measured: dict[str, Measured], name: str) -> float | None:
    """What recording adds to the CPU time, per recorded fact; None where nothing was recorded."""
    for recording, silent in flowsim_variants.RECORDING_COSTS:
        if recording == name and silent in measured and measured[name].facts:
            added_seconds = measured[name].median_seconds - measured[silent].median_seconds
            return added_seconds * 1e9 / measured[name].facts
    return None


def times_without_checkpoints(measured: dict[str, Measured], name: str) -> float | None:
    """How many times longer than without checkpoints; None where the variant takes none."""
    without = measured.get(flowsim_variants.CHECKPOINT_COSTS.get(name, ""))
    return None if without is None else measured[name].median_seconds / without.median_seconds


def report(measured: dict[str, Measured], jobs: list[MeasuredJob], wired: list[WiringCost]) -> dict[str, object]:
    """All figures as plain values."""
    bare_seconds = measured[baselines.BARE].median_seconds
    simpy = measured.get(baselines.SIMPY)
    return {
        "machine": {
            "python": platform.python_version(),
            "system": platform.platform(),
            "core": execution_mode(),
        },
        "w1": [
            {
                "variant": one.name,
                "records": one.records,
                "rounds": len(one.cpu_seconds),
                "cpu_seconds_median": one.median_seconds,
                "cpu_seconds_min": min(one.cpu_seconds),
                "cpu_seconds_max": max(one.cpu_seconds),
                "thousand_records_per_cpu_second": one.thousand_records_per_second,
                "times_bare_loop": bare_seconds / one.median_seconds,
                "times_simpy": None if simpy is None else simpy.median_seconds / one.median_seconds,
                "facts_per_record": one.facts / one.records,
                "ns_per_fact": ns_per_fact(measured, one.name),
                "times_without_checkpoints": times_without_checkpoints(measured, one.name),
            }
            for one in measured.values()
        ],
        "jobs": [
            {
                "job": one.name,
                "rounds": len(one.seconds_each),
                "microseconds_each": one.microseconds_each,
                "times_bare_loop": one.times_bare_loop,
                "times_bare_loop_min": min(one.times_bare),
                "times_bare_loop_max": max(one.times_bare),
            }
            for one in jobs
        ],
        "wiring": [
            {"wiring": cost.name, "channels": cost.n**2, "cpu_seconds": cost.cpu_seconds, "megabytes": cost.megabytes}
            for cost in wired
        ],
    }


def throughput_table(measured: dict[str, Measured]) -> Table:
    some = next(iter(measured.values()))
    title = (
        f"W1, {some.records} records, medians of {len(some.cpu_seconds)} interleaved rounds; core: {execution_mode()}"
    )
    table = Table(title=title, caption="all results verified")
    table.add_column("variant")
    columns = (
        "k records / CPU s",
        "x bare",
        "x SimPy",
        "CPU s (min .. max)",
        "facts / record",
        "ns / fact",
        "x no checkpoints",
    )
    for column in columns:
        table.add_column(column, justify="right")
    bare_seconds = measured[baselines.BARE].median_seconds
    simpy = measured.get(baselines.SIMPY)
    for one in measured.values():
        seconds = one.median_seconds
        fact_ns = ns_per_fact(measured, one.name)
        times_without = times_without_checkpoints(measured, one.name)
        table.add_row(
            one.name,
            f"{one.thousand_records_per_second:.0f}",
            f"{bare_seconds / seconds:.2f}",
            "-" if simpy is None else f"{simpy.median_seconds / seconds:.2f}",
            f"{seconds:.3f} ({min(one.cpu_seconds):.3f} .. {max(one.cpu_seconds):.3f})",
            f"{one.facts / one.records:.2f}" if one.facts else "-",
            "-" if fact_ns is None else f"{fact_ns:.0f}",
            "-" if times_without is None else f"{times_without:.2f}",
        )
    return table


def jobs_table(jobs: list[MeasuredJob]) -> Table:
    table = Table(title="Other jobs, each record (or schedule) compared with a record of the bare loop of W1")
    for column in ("job", "us each", "x bare loop (min .. max)"):
        table.add_column(column, justify="left" if column == "job" else "right")
    for one in jobs:
        spread = f"{min(one.times_bare):.1f} .. {max(one.times_bare):.1f}"
        table.add_row(one.name, f"{one.microseconds_each:.2f}", f"{one.times_bare_loop:.1f} ({spread})")
    return table


def wiring_table(wired: list[WiringCost]) -> Table:
    table = Table(title="Wiring channels, each in a process of its own")
    for column in ("wiring", "channels", "CPU s", "MB"):
        table.add_column(column, justify="left" if column == "wiring" else "right")
    for cost in wired:
        table.add_row(cost.name, f"{cost.n} x {cost.n}", f"{cost.cpu_seconds:.3f}", f"{cost.megabytes:.1f}")
    return table


def add_flink(
    measured: dict[str, Measured], chosen: argparse.Namespace, on_progress: Callable[[str], object]
) -> str | None:
    """Adds the real Flink, and returns None; or returns what is missing for it."""
    if chosen.no_flink or (chosen.only and chosen.only not in flink_w1.NAME):
        return None
    on_progress(flink_w1.NAME)
    try:
        measured[flink_w1.NAME] = flink_w1.measure_flink(chosen.records, chosen.rounds)
    except flink_w1.FlinkMissing as missing:
        return str(missing)
    except WrongResult as wrong:
        raise SystemExit(f"benchmark stopped: {wrong}") from None
    return None


def main() -> None:
    chosen = options()
    variants = tuple(
        variant
        for variant in ALL_VARIANTS
        if not chosen.only or chosen.only in variant.name or variant.name == baselines.BARE
    )
    progress = Console(stderr=True)
    with progress.status("preparing") as status:
        try:
            measured = measure(variants, chosen.records, chosen.rounds, status.update)
            jobs = tuple(job for job in JOBS if not chosen.no_jobs and (not chosen.only or chosen.only in job.name))
            other = measure_jobs(jobs, baselines.VARIANTS[0].run, chosen.records, chosen.rounds, status.update)
        except WrongResult as wrong:
            raise SystemExit(f"benchmark stopped: {wrong}") from None
        no_flink = add_flink(measured, chosen, status.update)
        status.update("wiring channels")
        sizes = () if chosen.no_wiring else (100, 1_000)
        wired = [wiring.measure(name, n) for n in sizes for name in wiring.WIRINGS]
    figures = report(measured, other, wired)
    if chosen.append:
        history.append(figures)
        history.draw()
    if chosen.json:
        print(json.dumps(figures, indent=2))
        return
    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    console.print(throughput_table(measured))
    if no_flink:
        console.print(f"Without the real Flink: {no_flink}")
    if other:
        console.print(jobs_table(other))
    if wired:
        console.print(wiring_table(wired))


if __name__ == "__main__":
    main()
