"""Records the answers of the queues of Flink 1.9, the last release with an emitter thread.

    pip download apache-flink==1.9.3 --no-deps        # its deps/lib holds flink-dist_2.11-1.9.3.jar; Java 8 or later
    python tests/golden/recorders/legacy_stream_element_queue.py path/to/flink-dist_2.11-1.9.3.jar [cases] [seed] [out]

Sequences of commands are drawn from a seed; ``LegacyQueues.java`` runs them in the real classes. Each case of the golden
file is one queue: its kind and capacity, and pairs of a command and its answer.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

HERE = Path(__file__).parent
GOLDEN = HERE.parent / "data" / "legacy_stream_element_queue.jsonl.gz"


def commands(random: Random) -> list[str]:
    """One queue's commands; outcomes come in any order, callbacks late or at once, and both designs' corner cases often."""
    kind, capacity = random.choice(("ordered", "unordered")), random.choice((1, 2, 3, 5, 8))
    lines = [f"new {kind} {capacity}"]
    open_records: list[int] = []
    all_records: list[int] = []
    eager = random.random() < 0.5
    watermark_share = random.choice((0.05, 0.2, 0.5))
    for number in range(random.randint(20, 60)):
        step = random.random()
        if step < 0.35:
            if random.random() < watermark_share:
                lines.append(f"watermark {number}")
            else:
                lines.append(f"record {number}")
                open_records.append(number)
                all_records.append(number)
        elif step < 0.6 and all_records:
            again = not open_records or random.random() < 0.05
            of = all_records if again else open_records
            which = of[-1] if random.random() < 0.3 else random.choice(of)
            if which in open_records:
                open_records.remove(which)
            results = random.randint(0, 2)
            lines.append(f"fail {which}" if random.random() < 0.1 else f"complete {which} {results}")
        elif step < 0.85:
            lines.append(random.choice(("peek", "poll", "poll")))
        else:
            lines.append(random.choice(("values", "size", "run", "run")))
        if eager and lines[-1].split()[0] in ("record", "watermark", "complete", "fail"):
            lines += ["run"] * 2
    return [*lines, *["run"] * (2 * len(all_records)), "values", *["poll"] * 10, "size"]


def main(jar: str, cases: int = 600, seed: int = 9, out: Path = GOLDEN) -> None:
    random = Random(seed)
    sequences = [commands(random) for _ in range(cases)]
    with tempfile.TemporaryDirectory() as classes:
        subprocess.run(["javac", "-nowarn", "-cp", jar, "-d", classes, str(HERE / "LegacyQueues.java")], check=True)
        answered = subprocess.run(
            ["java", "-cp", f"{jar}:{classes}", "LegacyQueues"], check=True, capture_output=True, text=True,
            input="".join(f"{line}\n" for sequence in sequences for line in sequence),
        )  # fmt: skip
    answers = iter(answered.stdout.splitlines())
    with gzip.GzipFile(out, "wb", mtime=0) as golden:
        for sequence in sequences:
            steps = [[line, next(answers)] for line in sequence]
            _, kind, capacity = sequence[0].split()
            case = {"kind": kind, "capacity": int(capacity), "steps": steps[1:]}
            golden.write(json.dumps(case, separators=(",", ":")).encode() + b"\n")
    print(f"{cases} cases, {sum(map(len, sequences))} commands in {out}")


if __name__ == "__main__":
    jar, *rest = sys.argv[1:]
    main(jar, *map(int, rest[:2]), *map(Path, rest[2:]))
