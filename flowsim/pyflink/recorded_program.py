"""What a recording says about the program for PyFlink that executed its job."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from flowsim.connectors.kafka.topic_files import moved
from flowsim.errors import BadInput
from flowsim.recording.manifest import Manifest

OPTION: Final = "program"
"""The key of ``RunDescription.options``."""


class RecordedProgram(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A program, and which of its jobs a recording has, from 1."""

    path: str
    arguments: tuple[str, ...]
    topics: tuple[str, ...]
    """Files of topics: NAME=FILE."""
    sha256: str
    job: int
    settings: tuple[str, ...] = ()
    """What the user set in place of the program: KEY=VALUE."""

    @classmethod
    def of(
        cls, program: Path, arguments: Sequence[str], topics: Sequence[str], job: int, settings: Sequence[str] = ()
    ) -> RecordedProgram:
        """Returns what a recording says about a job of the program. A path outside the working directory has only its name."""
        pairs = (topic.partition("=") for topic in topics)
        files = tuple(f"{name}={moved(file, _shown)}" for name, _, file in pairs)
        return cls(_shown(program), tuple(arguments), files, digest_of_file(program), job, tuple(settings))

    @classmethod
    def of_manifest(cls, manifest: Manifest) -> RecordedProgram | None:
        """Returns the program of a recording; None if no program for PyFlink executed the job. Raises BadInput."""
        described = manifest.run.options.get(OPTION)
        try:
            return None if described is None else msgspec.convert(described, cls)
        except msgspec.ValidationError as error:
            raise BadInput(f"damaged manifest: run.options.{OPTION}: {error}") from None

    def file_in(self, folder: Path | None) -> Path:
        """Returns the program, in ``folder`` or at its recorded path. Raises BadInput if it is not there, or has changed."""
        program = Path(self.path) if folder is None else folder / Path(self.path).name
        if not program.is_file():
            raise BadInput(f"the program {program} is not there: give its folder with --folder")
        if digest_of_file(program) != self.sha256:
            raise BadInput(f"the program {program} has changed since")
        return program


def _shown(path: Path) -> str:
    return path.name if path.is_absolute() or ".." in path.parts else path.as_posix()


def digest_of_file(program: Path) -> str:
    """Returns the SHA-256 of a program."""
    return sha256(program.read_bytes()).hexdigest()
