"""Compares two revisions: ``make bench COMPARE=REV``, the checkout against a worktree of REV.

Both run their own benchmark in turns, one round at a time. CPU seconds are divided by those of the bare loop in the same
round, so that a slow moment of the machine cancels out. A ratio is that of the checkout divided by that of REV; below 1
the checkout is faster. Both are compiled first, if they can be; with FLOWSIM_PURE=1 both are compared in pure Python.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[2]
WORKTREES = ROOT / "build" / "bench"
SAME_WITHIN = 0.02
"""Ratios this near to 1 are shown as equal."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", help="any name that git knows, such as HEAD~1 or v0.2.0")
    parser.add_argument("--rounds", type=int, default=7, help="pairs of rounds (default 7)")
    parser.add_argument("--records", type=int, default=100_000, help="records of W1 (default 100000)")
    parser.add_argument("--only", metavar="TEXT", help="only the variants and jobs whose name contains TEXT")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    chosen = parser.parse_args()
    arguments = ["--rounds", "1", "--records", str(chosen.records), "--no-wiring", "--no-flink", "--json"]
    if chosen.only:
        arguments += ["--only", chosen.only]
    try:
        commit = _git("rev-parse", "--verify", f"{chosen.revision}^{{commit}}")
    except subprocess.CalledProcessError as error:
        print(f"COMPARE={chosen.revision}: git knows no such revision ({error.stderr.strip()})", file=sys.stderr)
        return 2
    other = WORKTREES / commit[:12]
    shutil.rmtree(other, ignore_errors=True)
    _git("worktree", "prune")
    _git("worktree", "add", "--detach", str(other), commit)
    try:
        for tree in (ROOT, other):
            # Older revisions have the script at their top level, and the oldest have none.
            for script in ("build_scripts/compile_core.py", "compile_core.py"):
                if (tree / script).exists():
                    subprocess.run([sys.executable, script], cwd=tree, check=True, stdout=sys.stderr)
        ratios = compared(other, chosen.rounds, arguments)
    finally:
        _git("worktree", "remove", "--force", str(other))
    if chosen.json:
        print(json.dumps({"revision": commit, "ratios": ratios}, indent=2))
        return 0
    console = Console()
    (console if console.is_terminal else Console(width=120)).print(table(commit[:12], ratios))
    return 0


def compared(other: Path, rounds: int, arguments: list[str]) -> dict[str, list[float]]:
    """Ratios of each variant and job that both revisions have, one per pair of rounds."""
    ratios: dict[str, list[float]] = defaultdict(list)
    with Console(stderr=True).status("comparing") as status:
        for number in range(rounds):
            status.update(f"pair {number + 1} of {rounds}")
            trees = [ROOT, other] if number % 2 == 0 else [other, ROOT]
            found = {tree: times_bare(tree, arguments) for tree in trees}
            for name in found[ROOT].keys() & found[other].keys():
                ratios[name].append(found[ROOT][name] / found[other][name])
    return {name: ratios[name] for name in sorted(ratios)}


def times_bare(tree: Path, arguments: list[str]) -> dict[str, float]:
    """How many times longer than the bare loop, by variant and job, in one round of a revision's own benchmark."""
    command = [sys.executable, str(tree / "tests" / "benchmarks" / "bench.py"), *arguments]
    environment = os.environ | {"PYTHONPATH": str(tree)}
    done = subprocess.run(command, env=environment, cwd=tree, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the benchmark of {tree} failed:\n{done.stderr[-2000:]}")
    figures = json.loads(done.stdout)
    found = {row["variant"]: 1 / row["times_bare_loop"] for row in figures["w1"] if row["variant"] != "bare loop"}
    return found | {row["job"]: row["times_bare_loop"] for row in figures.get("jobs", [])}


def table(revision: str, ratios: dict[str, list[float]]) -> Table:
    """Median and spread of the ratios."""
    shown = Table(title=f"CPU time of this checkout divided by that of {revision}")
    for column in ("benchmark", "median", "lowest .. highest", "pairs", ""):
        shown.add_column(column, justify="left" if column in ("benchmark", "") else "right")
    for name, found in ratios.items():
        median = statistics.median(found)
        verdict = "equal" if abs(median - 1) <= SAME_WITHIN else "faster" if median < 1 else "slower"
        spread = f"{min(found):.3f} .. {max(found):.3f}"
        within_spread = min(found) <= 1 <= max(found)
        shown.add_row(name, f"{median:.3f}", spread, str(len(found)), verdict + (" (spread)" if within_spread else ""))
    return shown


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
