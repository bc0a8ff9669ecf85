"""A process of ``flowsim play`` for tests, and games without a server."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from flowsim.cli.explored_subjects import ScenarioSubject
from flowsim.cli.scenarios import compiled_scenario
from flowsim.play.game import Game
from flowsim.play.puzzle import Puzzle, puzzle_of
from tests.support.signals import default_signals
from tests.support.watched import PATIENCE_S, wait_for

ROOT: Final = Path(__file__).parents[2]


class Played:
    """A process of ``flowsim play``, which runs in ``folder``."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder = folder
        with (folder / "printed.log").open("w") as printed, (folder / "errors.log").open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "flowsim", "play", *arguments],
                cwd=folder, text=True, stdout=printed, stderr=errors, preexec_fn=default_signals,
            )  # fmt: skip

    def printed(self) -> str:
        return (self.folder / "printed.log").read_text()

    def errors(self) -> str:
        return (self.folder / "errors.log").read_text()

    @property
    def url(self) -> str:
        """The address of the page, as soon as it is printed."""
        found = wait_for(lambda: re.search(r"page +(http://127\.0\.0\.1:\d+/\S+/)\n", self.printed()), self.process)
        return found[1]

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)

    def close(self) -> None:
        if self.process.poll() is None:
            self.end(signal.SIGTERM)


def subject_of(file: Path, folder: Path) -> ScenarioSubject:
    compiled = compiled_scenario(file, folder / "out", (), False, False, ())
    return ScenarioSubject(compiled, ["flowsim", "run", str(file)], "full")


def game_of(file: Path, folder: Path, puzzle: Puzzle | None = None) -> Game:
    """Returns a game with the job of a scenario file."""
    return subject_of(file, folder).game(file.stem, folder / "positions", puzzle)


def game_of_puzzle(name: str, folder: Path) -> Game:
    puzzle = puzzle_of(name)
    return game_of(puzzle.scenario, folder, puzzle)


def play_texts(game: Game, texts: Sequence[str]) -> None:
    """Chooses, one after the other, the options whose sentences begin with these texts."""
    for text in texts:
        state = game.state()
        (option,) = [number for number, each in enumerate(state["options"]) if each.startswith(text)]
        game.choose(state["made"], option)
