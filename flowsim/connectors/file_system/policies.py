"""Which bucket a record belongs to, and when a part file is complete. Flink: BucketAssigner, RollingPolicy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from flowsim.errors import BadInput

_DIRECTIVES: Final = {
    "yyyy": "%Y", "uuuu": "%Y", "yy": "%y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S", "DDD": "%j",
}  # fmt: skip
"""Letters of Java's DateTimeFormatter, and the directives of Python's strftime."""


class BucketAssigner(ABC):
    """Chooses the folder of a record, below that of the sink. Flink: BucketAssigner."""

    @abstractmethod
    def bucket_id(self, processing_time_ms: int) -> str:
        """Returns the path of the bucket; '' is the folder of the sink."""

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """All records are in the folder of the sink. Flink: BasePathBucketAssigner."""
        return _BasePath()

    @staticmethod
    def date_time_bucket_assigner(format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None) -> BucketAssigner:
        """A record is in the folder of the processing time at which it is written. Flink: DateTimeBucketAssigner.

        Without a time zone it is UTC. The clock of a job in virtual time begins at 1970-01-01 00:00:01.
        """
        return _DateTime(_strftime_of(format_str), _zone_of(timezone_id))


class _BasePath(BucketAssigner):
    def bucket_id(self, processing_time_ms: int) -> str:
        return ""


class _DateTime(BucketAssigner):
    def __init__(self, text: str, zone: tzinfo) -> None:
        self._text = text
        self._zone = zone

    def bucket_id(self, processing_time_ms: int) -> str:
        at = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=processing_time_ms)
        return at.astimezone(self._zone).strftime(self._text)


def _strftime_of(pattern: str) -> str:
    """Returns the format of strftime for a pattern of Java.

    >>> _strftime_of("yyyy-MM-dd--HH"), _strftime_of("'day='yyyy/MM/dd")
    ('%Y-%m-%d--%H', 'day=%Y/%m/%d')
    """
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        letter = pattern[at]
        if letter == "'":
            end = pattern.find("'", at + 1)
            if end < 0:
                raise BadInput(f"date_time_bucket_assigner: {pattern!r:.60} has a quote without an end")
            parts.append(pattern[at + 1 : end].replace("%", "%%") or "'")
            at = end + 1
            continue
        run = len(pattern[at:]) - len(pattern[at:].lstrip(letter))
        word = pattern[at : at + run]
        if letter.isalpha() and word not in _DIRECTIVES:
            raise BadInput(
                f"date_time_bucket_assigner: {pattern!r:.60}: expected {', '.join(_DIRECTIVES)} and quoted text, got {word!r}"
            )
        parts.append(_DIRECTIVES.get(word, word.replace("%", "%%")))
        at += run
    text = "".join(parts)
    if ".." in text or text.startswith("/"):
        raise BadInput(f"date_time_bucket_assigner: {pattern!r:.60}: a bucket is below the folder of the sink")
    return text


def _zone_of(name: str | None) -> tzinfo:
    if name is None:
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        pass
    try:
        offset = datetime.strptime(name.removeprefix("GMT").removeprefix("UTC"), "%z").utcoffset()
    except ValueError:
        raise BadInput(f"date_time_bucket_assigner: unknown time zone {name!r:.60}") from None
    return timezone(offset or timedelta())


@dataclass(slots=True)
class PartState:
    """What a policy knows of a part file. Flink: PartFileInfo."""

    size_bytes: int
    created_ms: int
    updated_ms: int


@dataclass(frozen=True, slots=True)
class RollingPolicy:
    """When a part file is complete, so that the next record begins another. Flink: RollingPolicy."""

    part_size: int | None
    """In bytes; None: any size."""
    rollover_interval: int | None
    """In ms of processing time since the file was created; None: any."""
    inactivity_interval: int | None
    """In ms of processing time since the last record; None: any."""
    rolls_on_every_checkpoint: bool

    @staticmethod
    def default_rolling_policy(
        part_size: int = 1024 * 1024 * 128, rollover_interval: int = 60 * 1000, inactivity_interval: int = 60 * 1000
    ) -> DefaultRollingPolicy:
        """A file is complete by its size, its age, or the time without records."""
        for name, value in (("part_size", part_size), ("rollover_interval", rollover_interval),
                            ("inactivity_interval", inactivity_interval)):  # fmt: skip
            if type(value) is not int or value <= 0:
                raise BadInput(f"default_rolling_policy: {name}: expected an integer > 0, got {value!r:.60}")
        return DefaultRollingPolicy(part_size, rollover_interval, inactivity_interval, False)

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """A file is complete at each checkpoint."""
        return OnCheckpointRollingPolicy(None, None, None, True)

    @property
    def depends_on_time(self) -> bool:
        """True if every file is complete at some time, even without records."""
        return self.rollover_interval is not None or self.inactivity_interval is not None

    def should_roll_on_event(self, part: PartState) -> bool:
        """True if the next record belongs to another file."""
        return self.part_size is not None and part.size_bytes > self.part_size

    def should_roll_on_checkpoint(self, part: PartState) -> bool:
        return self.rolls_on_every_checkpoint or self.should_roll_on_event(part)

    def should_roll_on_processing_time(self, part: PartState, now_ms: int) -> bool:
        """Asked at every interval in which buckets are checked."""
        rollover, inactivity = self.rollover_interval, self.inactivity_interval
        return (rollover is not None and now_ms - part.created_ms >= rollover) or (
            inactivity is not None and now_ms - part.updated_ms >= inactivity
        )


class DefaultRollingPolicy(RollingPolicy):
    """The policy of ``default_rolling_policy``. Flink: DefaultRollingPolicy."""

    __slots__ = ()


class OnCheckpointRollingPolicy(RollingPolicy):
    """The policy of ``on_checkpoint_rolling_policy``. Flink: OnCheckpointRollingPolicy."""

    __slots__ = ()


class OutputFileConfig:
    """The begin and the end of the names of part files. Flink: OutputFileConfig."""

    def __init__(self, part_prefix: str, part_suffix: str) -> None:
        for text in (part_prefix, part_suffix):
            if not isinstance(text, str) or "/" in text or "\0" in text:
                raise BadInput(f"OutputFileConfig: expected a part of a file name, got {text!r:.60}")
        if not part_prefix or part_prefix.startswith((".", "_")):
            raise BadInput(
                f"OutputFileConfig: expected a prefix that does not hide files from readers, got {part_prefix!r:.60}"
            )
        self._prefix = part_prefix
        self._suffix = part_suffix

    @staticmethod
    def builder() -> OutputFileConfig.OutputFileConfigBuilder:
        """Creates a builder: prefix ``part``, no suffix."""
        return OutputFileConfig.OutputFileConfigBuilder()

    def get_part_prefix(self) -> str:
        return self._prefix

    def get_part_suffix(self) -> str:
        return self._suffix

    class OutputFileConfigBuilder:
        """Builds an OutputFileConfig."""

        def __init__(self) -> None:
            self._prefix = "part"
            self._suffix = ""

        def with_part_prefix(self, prefix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            self._prefix = prefix
            return self

        def with_part_suffix(self, suffix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            self._suffix = suffix
            return self

        def build(self) -> OutputFileConfig:
            return OutputFileConfig(self._prefix, self._suffix)
