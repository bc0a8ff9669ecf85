"""The scenarios that come with flowsim: their names, comments and data files."""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from flowsim.distribution import shipped
from flowsim.errors import BadInput, did_you_mean
from flowsim.scenario.first_comment import SCHEMA_COMMENT, first_comment
from flowsim.scenario.loader import load_scenario

SCHEMA_FILE: Final = "scenario.schema.json"
SCHEMA_LINE: Final = f"# yaml-language-server: $schema={SCHEMA_FILE}\n"
"""The first line of a scenario file whose schema is in the same folder."""
_SENTENCE: Final = re.compile(r".+?\.(?=\s|$)")


@dataclass(frozen=True, slots=True)
class ShippedScenario:
    """A scenario of the folder ``scenarios``."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def comment(self) -> list[str]:
        """The paragraphs of the first comment, without the line that names the schema."""
        return first_comment(self.path.read_text(encoding="utf-8"))

    @property
    def summary(self) -> str:
        """The first sentence of the scenario's comment."""
        sentence = _SENTENCE.match(self.comment[0])
        return self.comment[0] if sentence is None else sentence[0]

    def files(self) -> dict[str, Path | None]:
        """Returns the files that the scenario needs, by relative name.

        The value is None for a file that this installation does not have.
        """
        model = load_scenario(self.path).model
        names = model.file_names()
        if model.recompute is not None:
            names.append(model.recompute.pyspark.partition(":")[0])
        path_of: dict[str, Path | None] = {}
        for name in names:
            matching = sorted(glob.glob(name, root_dir=self.path.parent)) if glob.has_magic(name) else [name]
            for each in matching or [name]:
                path = self.path.parent / each
                path_of[each] = path if path.is_file() else None
        return path_of

    def text_beside_schema(self) -> str:
        """Returns the scenario's text, changed for a folder that also contains the schema."""
        return SCHEMA_COMMENT.sub(SCHEMA_LINE, self.path.read_text(encoding="utf-8"), count=1)


def shipped_scenarios() -> list[ShippedScenario]:
    """Returns all scenarios that come with flowsim, by name."""
    return [ShippedScenario(path) for path in sorted(shipped("scenarios").glob("*.yaml"))]


def shipped_scenario(name: str) -> ShippedScenario:
    """Returns a scenario by its name, or by the number at the start of its name, such as ``11a``. Raises BadInput."""
    asked = name.removesuffix(".yaml")
    known = {each.name: each for each in shipped_scenarios()}
    numbered = {each.partition("_")[0]: scenario for each, scenario in known.items()}
    shipped = known.get(asked) or numbered.get(asked)
    if shipped is None:
        raise BadInput(f"there is no scenario {name!r}{did_you_mean(asked, known)}; flowsim scenarios lists them")
    return shipped


def schema_text() -> str:
    """Returns the JSON Schema of scenarios as text."""
    return shipped(f"docs/{SCHEMA_FILE}").read_text(encoding="utf-8")


def write_new(folder: Path, files: Mapping[str, bytes], force: bool) -> list[Path]:
    """Writes files below a folder, which is created.

    Returns the files that did not exist before with the same content.

    Raises BadInput, before anything is written, if files are there with other content and ``force`` is not given.
    """
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder}: expected a folder, found a file")
    targets = {folder / name: content for name, content in files.items()}
    try:
        changed = [path for path, content in targets.items() if not (path.is_file() and path.read_bytes() == content)]
        taken = [str(path) for path in changed if path.exists()]
        folders = [str(path) for path in changed if path.is_dir()]
        if folders:
            raise BadInput(f"{', '.join(folders)}: expected a file, found a folder")
        if taken and not force:
            raise BadInput(f"{', '.join(taken)}: already there with other content; --force overwrites")
        for path in changed:
            path.parent.mkdir(parents=True, exist_ok=True)
            aside = path.with_name(f".{path.name}.tmp")
            aside.write_bytes(targets[path])
            aside.replace(path)
    except OSError as error:
        raise BadInput(f"{error.filename}: cannot be written: {error.strerror}") from None
    return changed
