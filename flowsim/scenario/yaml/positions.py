"""Reads one YAML document into plain values and stores the position of each of them in the file.

Data only: no anchors, aliases, merge keys or tags, so a small file cannot become a large document. Scalars follow a
subset of YAML 1.2: decimal int64 integers, plain decimal numbers, ``true``, ``false``, ``null``; everything else is
text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from ruamel.yaml.scanner import Scanner, ScannerError

from flowsim.errors import ScenarioError, SourcePosition, printable_line
from flowsim.limits import DEFAULT_LIMITS, Limits, to_raise
from flowsim.quantities import count_text

MAX_DEPTH: Final = 32
MAX_KEY_CHARS: Final = 200

YamlValue = None | bool | int | float | str | list["YamlValue"] | dict[str, "YamlValue"]
Path = tuple[str | int, ...]
"""The path of a value inside a document: keys and indexes."""

_INTEGER: Final = re.compile(r"[-+]?[0-9]+")
_FLOAT: Final = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?")
_OTHER_NUMBER: Final = re.compile(
    r"[-+]?(?:0[xob][0-9a-fA-F_]+|[0-9][0-9_]*_[0-9_]*(?:\.[0-9_]*)?|\.(?:inf|nan))", re.I
)
_WORDS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None, "~": None, "": None}
_MAX_NUMBER_CHARS: Final = 40
_LINE_BREAK: Final = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
# As the few characters that YAML excludes: compiling those that it allows takes seven times as long.
_NOT_IN_YAML: Final = re.compile(
    "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x84\\x86-\\x9f]|[\\ud800-\\udfff]|[\\ufffe\\uffff]"
)


@dataclass(frozen=True, slots=True)
class PositionedDocument:
    """A document as plain values, and the positions of its values and keys."""

    file: str
    value: YamlValue
    values: dict[Path, SourcePosition]
    keys: dict[Path, SourcePosition]
    quoted: frozenset[Path]
    """Paths of quoted texts, whose first character is one column to the right of the position."""
    blocks: frozenset[Path]
    """Paths of texts written as block scalars ("|", ">"), which begin on a later line."""

    def position(self, path: Path) -> SourcePosition:
        """Returns the position of the value, or of the nearest enclosing value in the file."""
        while path and path not in self.values:
            path = path[:-1]
        return self.values.get(path, SourcePosition(self.file, 1, 1))

    def position_inside(self, path: Path, offset: int) -> SourcePosition:
        """Returns the position of a character in a text, as exactly as quotes and folding allow."""
        start = self.position(path)
        if path not in self.values or path in self.blocks:
            return start
        return SourcePosition(start.file, start.line, start.column + offset + (path in self.quoted))

    def key_position(self, path: Path) -> SourcePosition:
        """Returns the position of a value's key; for a list item, the position of the item."""
        return self.keys.get(path) or self.position(path)


def path_text(path: Path) -> str:
    """Returns a path as text: ``operators.hourly.parallelism``, ``faults[0].at``; ``the document`` for the whole.

    >>> path_text(("faults", 0, "at"))
    'faults[0].at'
    """
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{printable_line(shortened(part))}" for part in path)
    return text.removeprefix(".") or "the document"


def shortened(name: str) -> str:
    """Returns a name for a message; cuts off the end of a long name."""
    return name if len(name) <= 64 else name[:61] + "..."


@dataclass(slots=True)
class _Open:
    """A list or mapping that is not closed yet."""

    path: Path
    container: list[YamlValue] | dict[str, YamlValue]
    key: str | None = None


@dataclass(slots=True)
class _Reader:
    file: str
    limits: Limits
    values: dict[Path, SourcePosition] = field(default_factory=dict)
    keys: dict[Path, SourcePosition] = field(default_factory=dict)
    quoted: set[Path] = field(default_factory=set)
    blocks: set[Path] = field(default_factory=set)
    stack: list[_Open] = field(default_factory=list)
    root: list[YamlValue] = field(default_factory=list)
    nodes: int = 0

    def read(self, text: str) -> PositionedDocument:
        self._refuse_control_characters(text)
        try:
            for event in _events(text):
                self._take(event)
        except ScenarioError:
            raise
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            where = SourcePosition(self.file, mark.line + 1, mark.column + 1) if mark else self._start()
            raise ScenarioError(f"invalid YAML: {_one_line(error.problem or error.context)}", where) from None
        except YAMLError as error:
            raise ScenarioError(f"invalid YAML: {_one_line(str(error))}", self._start()) from None
        except (ValueError, TypeError, AttributeError, IndexError, KeyError, AssertionError, RecursionError) as error:
            # On some malformed input the parser raises errors of its own code.
            where = self._last()
            raise ScenarioError(f"invalid YAML after this position ({type(error).__name__})", where) from None
        if not self.root:
            raise ScenarioError("expected a scenario, got an empty file", self._start())
        quoted, blocks = frozenset(self.quoted), frozenset(self.blocks)
        return PositionedDocument(self.file, self.root[0], self.values, self.keys, quoted, blocks)

    def _refuse_control_characters(self, text: str) -> None:
        """YAML allows none; the parser would not report where they are."""
        match = _NOT_IN_YAML.search(text)
        if match is None:
            return
        where = _position_after(text[: match.start()], self.file)
        code = ord(match[0])
        raise ScenarioError(
            f'control character U+{code:04X}: remove it, or write it in a double-quoted text as "\\u{code:04X}"', where
        )

    def _start(self) -> SourcePosition:
        return SourcePosition(self.file, 1, 1)

    def _last(self) -> SourcePosition:
        return next(reversed(self.values.values()), self._start())

    def _take(self, event: Event) -> None:
        where = SourcePosition(self.file, event.start_mark.line + 1, event.start_mark.column + 1)
        if isinstance(event, NodeEvent):
            self._refuse_indirection(event, where)
        match event:
            case ScalarEvent():
                self._scalar(event, where)
            case MappingStartEvent():
                self._enter(where, {})
            case SequenceStartEvent():
                self._enter(where, [])
            case MappingEndEvent() | SequenceEndEvent():
                self.stack.pop()
            case DocumentStartEvent():
                if self.root:
                    raise ScenarioError("expected one document, got a second one ('---')", where)
                if event.version is not None or event.tags:
                    raise ScenarioError("YAML directives ('%') are not allowed", where)

    def _refuse_indirection(self, event: NodeEvent, where: SourcePosition) -> None:
        if isinstance(event, AliasEvent):
            raise ScenarioError(f"aliases are not allowed, write the value out: *{event.anchor}", where)
        if event.anchor is not None:
            raise ScenarioError(f"anchors are not allowed: &{event.anchor}", where)
        tag: object = getattr(event, "tag", None)
        if tag is not None:
            raise ScenarioError(f"tags are not allowed: {str(tag)[:60]}", where)
        self.nodes += 1
        most = self.limits.scenario_values
        if self.nodes > most:
            raise ScenarioError(
                f"the document has more than {count_text(most, 'value')} {to_raise('scenario_values')}", where
            )

    def _scalar(self, event: ScalarEvent, where: SourcePosition) -> None:
        top = self.stack[-1] if self.stack else None
        if top is not None and isinstance(top.container, dict) and top.key is None:
            self._key(event, top, where)
            return
        value: YamlValue = event.value if event.style else _plain(event.value, where)
        if top is not None and top.key is not None and not event.value and not event.style:
            # The parser puts a missing value after the following white space.
            where = self.keys[(*top.path, top.key)]
        path = self._place(value, where)
        if event.style:
            (self.quoted if event.style in ("'", '"') else self.blocks).add(path)

    def _key(self, event: ScalarEvent, top: _Open, where: SourcePosition) -> None:
        key = event.value
        if key == "<<" and not event.style:
            raise ScenarioError("merge keys ('<<') are not allowed", where)
        if len(key) > MAX_KEY_CHARS or not key:
            raise ScenarioError(f"expected a key of 1 to {MAX_KEY_CHARS} characters, got {len(key)}", where)
        if key in top.container:
            first = self.keys[(*top.path, key)]
            raise ScenarioError(f"duplicate key {key!r}, first used in line {first.line}", where)
        top.key = key
        self.keys[(*top.path, key)] = where

    def _enter(self, where: SourcePosition, container: list[YamlValue] | dict[str, YamlValue]) -> None:
        if len(self.stack) >= MAX_DEPTH:
            raise ScenarioError(f"values are nested deeper than {MAX_DEPTH} levels", where)
        path = self._place(container, where)
        self.stack.append(_Open(path, container))

    def _place(self, value: YamlValue, where: SourcePosition) -> Path:
        path: Path
        if not self.stack:
            path = ()
            self.root.append(value)
        else:
            top = self.stack[-1]
            if isinstance(top.container, list):
                path = (*top.path, len(top.container))
                top.container.append(value)
            elif top.key is None:
                raise ScenarioError("expected a text as a key, got a list or mapping", where)
            else:
                path = (*top.path, top.key)
                top.container[top.key] = value
                top.key = None
        self.values[path] = where
        return path


class _Scanner(Scanner):
    """The scanner of ruamel.yaml, which lets Python's error for the number of an escape pass, without a position."""

    def scan_flow_scalar_non_spaces(self, double: Any, start_mark: Any) -> Any:
        try:
            return super().scan_flow_scalar_non_spaces(double, start_mark)
        except (ValueError, OverflowError):
            escape = f"\\U{self.reader.prefix(8)}"
            raise ScannerError(
                "while scanning a double-quoted scalar",
                None,
                f"the escape {escape} in this text is no character: the last one is \\U0010FFFF",
                start_mark,
            ) from None


def _events(text: str) -> Iterator[Event]:
    yaml = YAML(typ="safe", pure=True)
    yaml.Scanner = _Scanner
    events: Iterator[Event] = yaml.parse(text)
    return events


def _position_after(text: str, file: str) -> SourcePosition:
    """Returns the position of the character after the beginning of a file. YAML's line breaks are also CR, NEL, LS, PS."""
    lines = _LINE_BREAK.split(text)
    return SourcePosition(file, len(lines), len(lines[-1].removeprefix("\ufeff" if len(lines) == 1 else "")) + 1)


def _one_line(text: object) -> str:
    return " ".join(str(text).split())[:200]


def _plain(text: str, where: SourcePosition) -> YamlValue:
    """Returns the value of an unquoted scalar; a very long number raises an error before its conversion."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if text[0] not in "+-.0123456789":
        return text
    number = text if len(text) <= _MAX_NUMBER_CHARS else text[: _MAX_NUMBER_CHARS + 1]
    if _INTEGER.fullmatch(number):
        if len(number.lstrip("+-")) > 19 or not -(2**63) <= int(number) < 2**63:
            raise ScenarioError(f"integer does not fit an int64: {number[:30]}...", where)
        return int(number)
    if _FLOAT.fullmatch(number):
        value = float(number) if len(text) <= _MAX_NUMBER_CHARS else float("inf")
        if value in (float("inf"), float("-inf")):
            raise ScenarioError(f"number does not fit a double: {number[:30]}", where)
        return value
    if _OTHER_NUMBER.fullmatch(number):
        raise ScenarioError(f"expected a decimal number (or quotes around a text), got {number[:30]}", where)
    return text


def check_size(size: int, file: str, limits: Limits) -> None:
    """Raises ScenarioError for a scenario of more bytes than the limit."""
    if size > limits.scenario_bytes:
        expected = f"expected a scenario of at most {limits.scenario_bytes} bytes {to_raise('scenario_bytes')}"
        raise ScenarioError(expected, SourcePosition(file, 1, 1))


def read_document(text: str, file: str, limits: Limits = DEFAULT_LIMITS) -> PositionedDocument:
    """Reads ``text``; raises ScenarioError with the position of the first unsupported construct."""
    return _Reader(file, limits).read(text.removeprefix("\ufeff"))


def decode(raw: bytes, file: str, limits: Limits = DEFAULT_LIMITS) -> str:
    """Returns the text of a scenario file; raises an error if the file is too large or not UTF-8."""
    check_size(len(raw), file, limits)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        where = _position_after(raw[: error.start].decode("utf-8"), file)
        raise ScenarioError(f"expected UTF-8 text, got byte 0x{raw[error.start]:02x}", where) from None
