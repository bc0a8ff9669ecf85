"""Finds the key that a word of Flink, or a key in another place, stands for: the end of the message for an unknown key.

A key's names in Flink are metadata of its field: ``FlinkNames`` in a model, the option and the method of a setting.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from pydantic import BaseModel

from flowsim.not_simulated import NOT_SIMULATED
from flowsim.scenario.yaml.keys import ANY_INDEX, ANY_NAME, choices_of, every_key
from flowsim.scenario.yaml.positions import Path, YamlValue, path_text

_VERBS: Final = re.compile(r"(set|with|enable|disable|for)(_|(?=[A-Z]))")
"""The first word of a method, which a name may lack: ``idleness`` is ``with_idleness``."""
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_CALLED: Final = re.compile(r"(?:new )?([A-Za-z]\w*)(?:\.\w+)?\(")
_MOST_PLACES: Final = 3
_MOST_KEYS: Final = 6
_MOST_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class FlinkNames:
    """What Flink calls a key: methods and arguments of PyFlink or Java in PyFlink's spelling, classes, options.

    ``FlinkNames("with_idleness")``. A pair is a name and the value that the key then has, such as
    ``FlinkNames(("start_new_chain", "head"))``.
    """

    names: tuple[str | tuple[str, str], ...]
    note: str
    """The message for the names, where no key below this one has their meaning."""

    def __init__(self, *names: str | tuple[str, str], note: str = "") -> None:
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "note", note)

    def with_values(self) -> Iterable[tuple[str, str]]:
        """Yields each name with the value of the key, '' if the name does not decide it."""
        for name in self.names:
            yield (name, "") if isinstance(name, str) else name


@dataclass(frozen=True, slots=True)
class _Target:
    """A key of the format, by its path, and the value or the message that a word stands for."""

    path: Path
    value: str = ""
    note: str = ""

    def common(self, place: Path) -> int:
        """Returns how many first parts of a mapping's place are those of the key."""
        pairs = zip(self.path[:-1], place, strict=False)
        same = [part in (ANY_NAME, ANY_INDEX) or part == given for part, given in pairs]
        return same.index(False) if False in same else len(same)

    def is_below(self, place: Path) -> bool:
        return self.common(place) == len(place)

    def is_in(self, place: Path) -> bool:
        """Returns True for a key of the mapping at ``place``."""
        return len(self.path) == len(place) + 1 and self.is_below(place)

    def text(self, place: Path) -> str:
        """Returns the key as the author of the mapping at ``place`` has to write it."""
        common, value = self.common(place), f": {self.value}" if self.value else ""
        if common == len(place):
            return f"'{path_text(self.path[common:])}{value}'"
        owner = (*place[:common], *self.path[common:-1])
        return f"'{self.path[-1]}{value}' of {path_text(owner) if owner else 'the scenario'}"


@dataclass(slots=True)
class _Words:
    """The keys of the format by words in lower case, without punctuation."""

    keys: dict[str, list[_Target]] = field(default_factory=lambda: defaultdict(list))
    choices: dict[str, list[_Target]] = field(default_factory=lambda: defaultdict(list))
    """By the values that they can have."""
    flink: dict[str, list[_Target]] = field(default_factory=lambda: defaultdict(list))
    """By their names in Flink."""

    def meant_by(self, value: str) -> list[_Target]:
        name = _plain(_identifier(value))
        return [*self.flink.get(name, ()), *self.keys.get(name, ())]


@cache
def _words_of(model: type[BaseModel]) -> _Words:
    words = _Words()
    for path, info in every_key(model):
        words.keys[_plain(str(path[-1]))].append(_Target(path))
        for choice in choices_of(info.annotation):
            words.choices[_plain(choice)].append(_Target(path, choice))
        for names in info.metadata:
            if isinstance(names, FlinkNames):
                for name, value in names.with_values():
                    for form in [_plain(name)] if value else _forms(name):
                        words.flink[form].append(_Target(path, value, names.note))
    return words


def _plain(word: str) -> str:
    return re.sub(r"[^a-z0-9]", "", word.lower())


def _forms(name: str) -> set[str]:
    """Returns the words that mean a name of Flink: itself, a method without its verb, the ends of an option's name."""
    if "." not in name:
        return {_plain(name), _plain(_VERBS.sub("", name, count=1))}
    parts = name.split(".")
    ends = [parts[first:] for first in range(len(parts))]
    return {_plain("".join(each)) for each in (*ends, parts[:-1]) if len(each) > 1 or "-" in each[0]}


def suggested_key(model: type[BaseModel], place: Path, word: str, value: YamlValue) -> str:
    """Returns `` (did you mean 'x'?)``, or a reason, for an unknown key of the mapping at ``place``; '' without one.

    ``value``: the value of the unknown key, which may continue the name of an option.
    """
    words = _words_of(model)
    longer = [each for each in _with_words(words, word) if each.is_in(place)]
    for name in _names(word, value):
        plain = _plain(name)
        here = [each for each in (*words.keys[plain], *words.choices[plain]) if each.is_in(place)]
        meant = here or words.flink[plain] or words.flink[_plain(_VERBS.sub("", name, count=1))]
        # A key of several words that is in another mapping is no mistyped key of this one, but may be a part of one.
        meant = meant or ([] if longer else [each for each in words.keys[plain] if "_" in str(each.path[-1])])
        notes = [each.note for each in meant if each.note and place[: len(each.path)] == each.path]
        if notes:
            return f": {notes[0]}"
        near = _nearest((each for each in meant if not each.note), place)
        if near:
            return _question(near, place)
        for feature in NOT_SIMULATED:
            if feature.has_option(name) or plain in map(_plain, feature.methods):
                return f": flowsim does not simulate this ({feature.feature}): {feature.instead}"
    return _question(longer, place) if 0 < len(longer) <= _MOST_KEYS else ""


def key_elsewhere(model: type[BaseModel], place: Path, word: str, value: YamlValue) -> str:
    """Returns `` (did you mean 'x' of y?)`` for a key that another mapping has, or whose value is the name of a key."""
    words = _words_of(model)
    near = _nearest(words.keys[_plain(word)], place)
    meant = words.meant_by(value) if isinstance(value, str) else []
    near = near or _nearest((each for each in (*_with_words(words, word), *meant) if each.is_below(place)), place)
    return _question(near, place) if near else ""


def suggested_value(model: type[BaseModel], path: Path, text: str, allowed: Iterable[str]) -> str:
    """Returns `` (did you mean 'x'?)`` for a value: an allowed one, or a key of the mapping that could be at ``path``."""
    last = _plain(_identifier(text))
    same = [each for each in allowed if _plain(each) == last]
    if same:
        return f" (did you mean {same[0]!r}?)"
    words = _words_of(model)
    values = [each.value for each in words.flink[last] if each.is_in(path[:-1]) and each.path[-1] == path[-1]]
    if any(values):
        return f" (did you mean {max(values)!r}?)"
    keys = [each.path[-1] for each in words.meant_by(text) if each.is_in(path)]
    return f" (did you mean '{keys[0]}: ...'?)" if keys else ""


def _identifier(text: str) -> str:
    """Returns the name in a value: ``EXACTLY_ONCE`` of ``CheckpointingMode.EXACTLY_ONCE``, the class of ``X.of(...)``."""
    called = _CALLED.match(text[:_MOST_CHARS])
    return called[1] if called else text[:_MOST_CHARS].rpartition(".")[2]


def _names(word: str, value: YamlValue) -> list[str]:
    """Returns the names that a key may be, the longest first: with the keys inside it, as in Flink's ``config.yaml``."""
    names = [word[:_MOST_CHARS]]
    while isinstance(value, dict) and len(value) == 1 and len(names) < 10:
        key, value = next(iter(value.items()))
        names.append(f"{names[-1]}.{key}"[:_MOST_CHARS])
    return names[::-1]


def _nearest(targets: Iterable[_Target], place: Path) -> list[_Target]:
    """Returns the keys that share most of their path with a place, and are the least deep there.

    Of many keys it returns their mapping if they are in one, otherwise none.
    """
    ranked: dict[tuple[int, int], list[_Target]] = defaultdict(list)
    for each in targets:
        ranked[-each.common(place), len(each.path)].append(each)
    near = list(dict.fromkeys(ranked[min(ranked)])) if ranked else []
    if len(near) > _MOST_PLACES:
        mapping = _Target(near[0].path[:-1])
        return [mapping] if mapping.path and all(each.path[:-1] == mapping.path for each in near) else []
    return near


def _question(near: Sequence[_Target], place: Path) -> str:
    *others, last = [each.text(place) for each in near]
    return f" (did you mean {', '.join(others)}{' or ' if others else ''}{last}?)"


def _with_words(words: _Words, word: str) -> list[_Target]:
    """Returns the keys that contain every word of an unknown key, such as ``buffers``."""
    asked = set(re.findall("[a-z0-9]+", _CAMEL.sub("_", word[:_MOST_CHARS]).lower()))
    keys = [each for targets in words.keys.values() for each in targets] if asked else []
    return [each for each in keys if asked <= set(str(each.path[-1]).split("_"))]
