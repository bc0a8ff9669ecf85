"""The history of the benchmark: one line of JSON for each revision that was measured, and its picture in the docs.

``make bench APPEND=1`` adds a line to docs/benchmarks.jsonl and draws docs/benchmarks.svg again.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
HISTORY = ROOT / "docs" / "benchmarks.jsonl"
PICTURE = ROOT / "docs" / "benchmarks.svg"
SHOWN = ("flowsim, virtual clock", "flowsim, uvloop", "flowsim, virtual clock, recording elements")


def append(figures: dict[str, Any], history: Path = HISTORY) -> None:
    """Adds the ratios of one measurement. The date is that of the commit; a changed checkout has a plus sign."""
    revision, date = _git("log", "-1", "--format=%h %cs").split()
    changed = "+" if _git("status", "--porcelain", "--untracked-files=no") else ""
    line = {
        "revision": revision + changed,
        "date": date,
        "python": figures["machine"]["python"],
        "core": figures["machine"]["core"],
        "w1_times_bare_loop": {row["variant"]: round(row["times_bare_loop"], 4) for row in figures["w1"]},
        "ns_per_fact": {row["variant"]: round(row["ns_per_fact"]) for row in figures["w1"] if row["ns_per_fact"]},
        "job_times_bare_loop": {row["job"]: round(row["times_bare_loop"], 2) for row in figures["jobs"]},
        "job_microseconds": {row["job"]: round(row["microseconds_each"], 3) for row in figures["jobs"]},
    }
    with history.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(line) + "\n")


def draw(history: Path = HISTORY, picture: Path = PICTURE) -> None:
    """Draws W1 divided by the bare loop, and every other job, over the measured revisions."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "flowsim"  # the same history gives the same file
    from matplotlib import pyplot as plt

    lines = [json.loads(line) for line in history.read_text(encoding="utf-8").splitlines()]
    names = [line["revision"] for line in lines]
    figure, (above, below) = plt.subplots(2, 1, figsize=(8, 7), sharex=True, layout="constrained")
    for variant in SHOWN:
        above.plot(names, [line["w1_times_bare_loop"].get(variant) for line in lines], marker="o", label=variant)
    above.set_ylabel("speed of W1, bare loop = 1")
    above.set_ylim(bottom=0)
    for job in sorted({job for line in lines for job in line["job_times_bare_loop"]}):
        below.plot(names, [line["job_times_bare_loop"].get(job) for line in lines], marker="o", label=job)
    below.set_ylabel("CPU time of one, record of the bare loop = 1")
    below.set_yscale("log")
    below.set_xlabel("revision")
    for axes in (above, below):
        axes.legend(fontsize="small")
        axes.grid(alpha=0.3)
    figure.savefig(picture, metadata={"Date": None})
    plt.close(figure)


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()
