"""Names of more than 255 characters, and paths of more than 4,096."""

from __future__ import annotations

from tests.hostile.case import OUT, REFUSED, Case, Make
from tests.hostile.corpus.paths import INVALID, LONG, ROWS, read
from tests.hostile.inputs import FILE, command, scenario

DEEP = "/".join(["d" * 200] * 21)
"""4,220 characters."""


def of_command(name: str, *arguments: str) -> Make:
    """``flowsim`` with these arguments, beside a scenario."""
    return command(name, *arguments, files={FILE: scenario()})


CASES = [
    Case("csv with a long name", read(LONG + ".csv"), REFUSED, "s.yaml:4:", INVALID),
    Case("csv in a folder with a long name", read(f"{LONG}/in.csv"), REFUSED, "s.yaml:4:", INVALID),
    Case("second csv with a long name", read(["in.csv", LONG], files={"in.csv": ROWS}), REFUSED, "s.yaml:4:", INVALID),
    Case("jsonl with a long name", read(LONG, kind="jsonl"), REFUSED, "s.yaml:4:", INVALID),
    Case("parquet with a long name", read(LONG, kind="parquet"), REFUSED, "s.yaml:4:", INVALID),
    Case("pattern below a long name", read(f"{LONG}/*"), REFUSED, "s.yaml:4:", INVALID),
    Case("path that is too long for a scenario", read(DEEP), REFUSED, "s.yaml:4:", "1000"),
]  # fmt: skip


CASES += [
    Case(f"{what} {length}", of_command(name, *arguments), REFUSED, "error: ", words)
    for length, given in (("with a long name", LONG), ("with a long path", DEEP))
    for what, name, arguments, words in (
        ("run of a scenario", "run", (f"{given}.yaml", "--out", OUT), "File name too long"),
        ("check of a scenario", "check", (f"{given}.yaml",), "File name too long"),
        ("graph of a scenario", "graph", (f"{given}.yaml",), "File name too long"),
        ("explore of a scenario", "explore", (f"{given}.yaml",), "File name too long"),
        ("study of a scenario", "study", (f"{given}.yaml", "--vary", "settings.seed=1,2", "--no-plot"), "File name too long"),
        ("output of run", "run", (FILE, "--out", given), "File name too long"),
        ("output of study", "study", (FILE, "--vary", "settings.seed=1,2", "--no-plot", "--out", given), "File name too long"),
        ("validate of a recording", "validate", (given,), "File name too long"),
        ("replay of a recording", "replay", (given,), "File name too long"),
        ("trace of a recording", "trace", (given,), "File name too long"),
        ("metrics of a recording", "metrics", (given,), "File name too long"),
        ("report of a recording", "report", (given,), "File name too long"),
        ("export of a recording", "export", (given, "--perfetto", "x"), "File name too long"),
        ("question about a recording", "why", (given,), "File name too long"),
    )
]  # fmt: skip
