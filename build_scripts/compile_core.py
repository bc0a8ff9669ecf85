"""Compiles the core of flowsim with mypyc, from the same source that Python runs; `make install` and wheels use it.

    python build_scripts/compile_core.py   compiles if a C compiler and Python's headers are there, and says so
    FLOWSIM_COMPILE=1 python ...           a missing compiler or a failure is an error
    FLOWSIM_COMPILE=0 python ...           does nothing

The result is in flowsim/_compiled. It is renewed only after a change of a compiled module, of Python or of mypy.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

os.environ["FLOWSIM_PURE"] = "1"  # what is compiled may be out of date
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from flowsim.compiled_modules import FOLDER, LIBRARY, MANIFEST, source_digest

ROOT = Path(__file__).resolve().parents[1]

WORK = Path("build/core")
"""The generated C, the object files and the log."""


class CannotCompile(Exception):
    """There is no C compiler, or it failed; the message says what to do."""


def compiled_modules(root: Path) -> list[str]:
    """Returns the names of the modules to compile: tool.flowsim.compiled of pyproject.toml."""
    names: list[str] = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["flowsim"][
        "compiled"
    ]
    return names


def manifest_of(root: Path) -> dict[str, object]:
    """Returns the manifest that an up-to-date build of these sources has."""
    return {
        "suffix": sysconfig.get_config_var("EXT_SUFFIX"),
        "mypy": importlib.metadata.version("mypy"),
        "sources": {name: source_digest(root, name) for name in compiled_modules(root)},
    }


def is_up_to_date(root: Path) -> bool:
    """Returns True if flowsim/_compiled was built from these sources."""
    try:
        built = json.loads((root / "flowsim" / FOLDER / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(built == manifest_of(root))


def check_compiler() -> None:
    """Raises CannotCompile if there is no C compiler or if Python's headers are missing."""
    command = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    if os.name != "nt" and shutil.which(command.split()[0]) is None:
        raise CannotCompile(f"no C compiler ({command.split()[0]}) was found")
    if not (Path(sysconfig.get_path("include")) / "Python.h").is_file():
        raise CannotCompile("the headers of Python were not found (Debian: python3-dev)")


def compile_core(root: Path) -> None:
    """Compiles the core into flowsim/_compiled of ``root``, which must be the working directory.

    Raises CannotCompile.
    """
    check_compiler()
    from mypyc.build import mypycify
    from setuptools import Distribution
    from setuptools.command.build_ext import build_ext

    class ParallelBuild(build_ext):
        """Compiles the C files of the library side by side."""

        def build_extension(self, ext: Any) -> None:
            sources, ext.sources = ext.sources, []
            options = {
                "output_dir": self.build_temp,
                "include_dirs": ext.include_dirs,
                "extra_postargs": ext.extra_compile_args,
                "depends": ext.depends,
            }
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                compiled = list(pool.map(lambda source: self.compiler.compile([source], **options), sources))
            ext.extra_objects = [*ext.extra_objects, *(name for names in compiled for name in names)]
            super().build_extension(ext)

    manifest = manifest_of(root)
    work = root / WORK
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    files = [f"{name.replace('.', '/')}.py" for name in compiled_modules(root)]
    extensions = mypycify(
        ["--config-file=build_scripts/compile_core.ini", *files],
        opt_level="2",
        debug_level="0",
        multi_file=True,
        target_dir=str(work / "c"),
        group_name=LIBRARY,
    )
    build = ParallelBuild(Distribution({"name": "flowsim-core", "ext_modules": extensions}))
    build.build_lib, build.build_temp = str(work / "lib"), str(work / "objects")
    build.ensure_finalized()
    try:
        build.run()
    except Exception as failed:
        raise CannotCompile(f"the C compiler failed: {failed}") from failed
    (work / "lib" / MANIFEST).write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    target = root / "flowsim" / FOLDER
    shutil.rmtree(target, ignore_errors=True)
    shutil.move(work / "lib", target)


def main() -> int:
    """Compiles the core unless it is up to date; without a C compiler, says that flowsim runs as pure Python."""
    setting = os.environ.get("FLOWSIM_COMPILE", "")
    os.chdir(ROOT)
    if setting == "0" or is_up_to_date(ROOT):
        return 0
    print(f"Compiling {len(compiled_modules(ROOT))} modules of the core (about a minute, once) ...", flush=True)
    started = time.monotonic()
    log = ROOT / "build" / "compile_core.log"
    log.parent.mkdir(exist_ok=True)
    with log.open("wb") as output:
        code = subprocess.run(
            [sys.executable, __file__, "--here"], stdout=output, stderr=output, check=False
        ).returncode
    if code == 0:
        print(f"Compiled in {time.monotonic() - started:.0f} s.", flush=True)
        return 0
    reason = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
    print(f"Not compiled: {' '.join(reason)} ({log}). flowsim runs as pure Python, about half as fast.", flush=True)
    return int(setting == "1")


if __name__ == "__main__":
    if sys.argv[1:] == ["--here"]:
        try:
            compile_core(Path.cwd())
        except CannotCompile as refused:
            sys.exit(str(refused))
    else:
        sys.exit(main())
