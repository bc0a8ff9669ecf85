"""Runs ``flowsim`` and Python files often without starting Python each time: a process that has imported what they need
forks for each call.

``flowsim_commands`` gives a folder for PATH whose ``flowsim`` and ``python`` hand their arguments, environment and open
files to that process. Each call is a process of its own, as always; only the imports are shared.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SOCKET = "server.sock"
_CLIENT = """\
#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    call = json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(server, [len(call).to_bytes(4, "big")], [0, 1, 2])
    server.sendall(call)
    answer = server.recv(4)
sys.exit(int.from_bytes(answer, "big") if answer else 70)
"""


@contextmanager
def flowsim_commands(folder: Path) -> Iterator[Path]:
    """The folder with the commands, as long as the block lasts."""
    address = folder / _SOCKET
    for name in ("flowsim", "python"):
        command = folder / name
        command.write_text(_CLIENT.format(python=sys.executable, address=str(address)))
        command.chmod(0o755)
    server = subprocess.Popen([sys.executable, "-m", __name__, str(address)], stdout=subprocess.PIPE)
    assert server.stdout is not None
    try:
        assert server.stdout.readline() == b"ready\n"
        yield folder
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


def serve(address: str) -> None:
    """Forks for every call, until this process is killed."""
    import _hypothesis_pytestplugin  # noqa: F401
    import pytest  # noqa: F401

    import flowsim.testing.pytest_plugin  # noqa: F401
    from flowsim.cli.main import CommandGroup

    for command in CommandGroup().commands.values():
        command.load()  # type: ignore[attr-defined]
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen(64)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            call, _ = server.accept()
            with call:
                if os.fork() == 0:
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    _answer(call)
                    os._exit(0)


def _answer(call: socket.socket) -> None:
    size, files, _, _ = socket.recv_fds(call, 4, 3)
    with call.makefile("rb") as sent:
        arguments, folder, variables = json.loads(sent.read(int.from_bytes(size, "big")))
    child = os.fork()
    if child == 0:
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        # The streams of the server remember that its own output is a file or a pipe.
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
        call.close()
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(variables)
        command, *sys.argv[1:] = arguments
        _run(Path(command).name)
    _, status = os.waitpid(child, 0)
    call.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "big", signed=True))


def _run(command: str) -> None:
    from flowsim.cli.main import main

    code = 0
    try:
        if command == "flowsim":
            sys.argv[0] = command
            main()
        else:
            _run_python()
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def _run_python() -> None:
    """Runs ``python FILE`` or ``python -m MODULE``."""
    del sys.argv[0]
    sys.path.insert(0, str(Path.cwd()))
    if sys.argv[0] == "-m":
        del sys.argv[0]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    serve(sys.argv[1])
