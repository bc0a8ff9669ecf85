"""The id of a job. Flink: JobID."""

from __future__ import annotations

import xxhash


class JobID:
    """The id of a job, as 32 hexadecimal digits; the same in every run of a job with the name. Flink: JobID.

    >>> str(JobID.of("Flink Streaming Job"))
    '1e1b6ba4636ba7685d9166358fdf0573'
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    @staticmethod
    def of(job_name: str) -> JobID:
        """Returns the id of a job; Flink draws one for each run."""
        return JobID(xxhash.xxh3_128_hexdigest(job_name.encode()))

    def __str__(self) -> str:
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JobID) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)
