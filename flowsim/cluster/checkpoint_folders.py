"""The folders in which a job writes checkpoints and savepoints: one run at a time writes to each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from flowsim.cluster.run_actions import RunAction, StopWithSavepoint, TriggerSavepoint
from flowsim.errors import BadInput
from flowsim.graph.checkpoint_settings import CheckpointSettings
from flowsim.recording.directory_lock import DirectoryLock


def checkpoint_folders(settings: CheckpointSettings | None, actions: Sequence[RunAction]) -> tuple[Path, ...]:
    """Returns the folders in which a run with these settings and actions writes."""
    found = [] if settings is None else [settings.directory]
    found += [each.directory for each in actions if isinstance(each, TriggerSavepoint | StopWithSavepoint)]
    return tuple(Path(each) for each in dict.fromkeys(found) if each is not None)


@contextmanager
def locked_folders(folders: Iterable[Path]) -> Iterator[None]:
    """Locks folders for a run, and creates them; those that are empty at the end are removed.

    Raises BadInput if another run writes to one of them, or if one cannot be created.
    """
    with ExitStack() as stack:
        for folder in dict.fromkeys(each.resolve() for each in folders):
            stack.enter_context(_locked(folder))
        yield


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    try:
        missing = [each for each in (folder, *folder.parents) if not each.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        lock = DirectoryLock(folder, "choose another directory for checkpoints and savepoints")
    except FileExistsError:
        raise BadInput(f"{folder}: is a file; give a directory for checkpoints and savepoints") from None
    except OSError as error:
        raise BadInput(f"{folder}: cannot be used for checkpoints and savepoints: {error.strerror or error}") from None
    try:
        yield
    finally:
        lock.release()
        for created in missing:
            if created.is_dir() and not any(created.iterdir()):
                created.rmdir()
