"""The compiled core and pure Python record the same: the digest covers every fact and the failure of a run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flowsim.compiled_modules import FOLDER, MANIFEST, PURE

REPOSITORY = Path(__file__).parents[3]

PROGRAM = """
import json, sys, tempfile
from pathlib import Path
from flowsim import run_scenario
from flowsim.compiled_modules import execution_mode

digests = {}
for path in map(Path, sys.argv[1:]):
    with tempfile.TemporaryDirectory() as folder:
        run = run_scenario(path, out=Path(folder) / "out", record="full", clock="virtual", allow_python=True)
    digests[path.stem] = [run.digest, str(run.result.error)]
print(json.dumps([execution_mode(), digests]))
"""
SCENARIOS = sorted(path for path in (REPOSITORY / "scenarios").glob("*.yaml") if not path.stem.startswith("01"))
"""All but those over 328,521 flights."""


def started(pure: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *map(str, SCENARIOS)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env=os.environ | {PURE: pure},
    )


@pytest.mark.skipif(
    not (REPOSITORY / "flowsim" / FOLDER / MANIFEST).is_file(),
    reason="the core is not compiled: `make install` needs a C compiler",
)
def test_scenarios_have_the_same_digest_compiled_and_pure() -> None:
    runs = [started(pure) for pure in ("", "1")]
    (compiled, digests), (pure, others) = [json.loads(run.communicate(timeout=120)[0]) for run in runs]
    assert (compiled, pure) == ("compiled", f"{PURE} is set")
    assert len(digests) == len(SCENARIOS) > 40
    assert digests == others
    assert digests["26a_async_timeout_fails"][1].startswith("job failed in task")
