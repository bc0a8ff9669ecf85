"""A sink that writes records to part files in buckets. Flink: FileSink."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from flowsim.connectors.file_system.folders import output_path
from flowsim.connectors.file_system.policies import BucketAssigner, OutputFileConfig, RollingPolicy
from flowsim.connectors.file_system.writer import BucketCommitter, BucketWriter, DirectBucketWriter, PartFiles
from flowsim.connectors.schemas import Encoder
from flowsim.errors import BadInput
from flowsim.operators.sink import InitContext

DEFAULT_CHECK_INTERVAL_MS = 60_000


class FileSink:
    """Writes each record with an encoder to the part file of its bucket. Flink: FileSink.

    A file that grows, or that waits for its commit, has a hidden name: ``.<name>.inprogress``. It is finished when a
    checkpoint after its end has completed; without checkpoints, when the job has ended or was stopped. A file that grows
    is part of a checkpoint, and is cut to that size after a failure.
    """

    kind = "files"

    def __init__(self, path: str, encoder: Encoder, files: PartFiles, check_interval_ms: int) -> None:
        self._path = path
        self._encoder = encoder
        self._files = files
        self._check_interval_ms = check_interval_ms

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> FileSink.RowFormatBuilder:
        """Writes records one by one to files in a folder."""
        return FileSink.RowFormatBuilder(base_path, encoder)

    @staticmethod
    def for_bulk_format(base_path: str, writer_factory: object) -> FileSink.RowFormatBuilder:
        """Raises BadInput: flowsim has no bulk formats."""
        raise BadInput(
            "FileSink.for_bulk_format: flowsim does not have this: use for_row_format, or ParquetSink of flowsim.connectors"
        )

    def with_text(self, text: Callable[[object], str]) -> FileSink:
        """Returns this sink, whose encoder writes ``text(value)`` if it writes the text of values."""
        return FileSink(self._path, self._encoder.with_text(text), self._files, self._check_interval_ms)

    @property
    def params(self) -> Mapping[str, object]:
        return {"folder": Path(self._path).name}

    def check_run(self, clock: Literal["virtual", "real"]) -> None:
        """Removes what an earlier run of this sink wrote."""
        self._files.begin_run()

    def create_writer(self, context: InitContext) -> BucketWriter:
        """Creates the writer of one subtask in a job with checkpoints."""
        return BucketWriter(self._files, self._encoder, context, self._check_interval_ms, ())

    def restore_writer(self, context: InitContext, recovered_state: Sequence[object]) -> BucketWriter:
        """Creates a writer that goes on with the files that grew at the checkpoint."""
        return BucketWriter(self._files, self._encoder, context, self._check_interval_ms, recovered_state)

    def create_direct_writer(self, context: InitContext) -> DirectBucketWriter:
        """Creates the writer of one subtask in a job without checkpoints."""
        return DirectBucketWriter(self._files, self._encoder, context, self._check_interval_ms, ())

    def create_committer(self, context: InitContext) -> BucketCommitter:
        return BucketCommitter(self._files)

    class RowFormatBuilder:
        """Builds a FileSink. Flink: FileSink.RowFormatBuilder."""

        def __init__(self, base_path: str, encoder: Encoder) -> None:
            if not isinstance(encoder, Encoder):
                raise BadInput(
                    f"FileSink: expected an Encoder such as Encoder.simple_string_encoder(), got {encoder!r:.60}"
                )
            self._path = base_path
            self._encoder = encoder
            self._assigner = BucketAssigner.date_time_bucket_assigner()
            self._policy: RollingPolicy = RollingPolicy.default_rolling_policy()
            self._config = OutputFileConfig.builder().build()
            self._interval_ms = DEFAULT_CHECK_INTERVAL_MS

        def with_bucket_check_interval(self, interval: int) -> FileSink.RowFormatBuilder:
            """Sets the interval in ms in which the policy is asked for the age of files."""
            if type(interval) is not int or interval <= 0:
                raise BadInput(f"FileSink.with_bucket_check_interval: expected ms > 0, got {interval!r:.60}")
            self._interval_ms = interval
            return self

        def with_bucket_assigner(self, bucket_assigner: BucketAssigner) -> FileSink.RowFormatBuilder:
            self._assigner = _checked(bucket_assigner, BucketAssigner, "with_bucket_assigner")
            return self

        def with_rolling_policy(self, rolling_policy: RollingPolicy) -> FileSink.RowFormatBuilder:
            self._policy = _checked(rolling_policy, RollingPolicy, "with_rolling_policy")
            return self

        def with_output_file_config(self, output_file_config: OutputFileConfig) -> FileSink.RowFormatBuilder:
            self._config = _checked(output_file_config, OutputFileConfig, "with_output_file_config")
            return self

        def enable_compact(self, strategy: object, compactor: object) -> FileSink.RowFormatBuilder:
            """Raises BadInput: files are not compacted here."""
            raise BadInput("FileSink.enable_compact: flowsim does not compact files: leave this call out")

        def disable_compact(self) -> FileSink.RowFormatBuilder:
            """Does nothing: files are not compacted."""
            return self

        def build(self) -> FileSink:
            """Raises BadInput for a path that cannot be written here."""
            files = PartFiles(output_path(self._path, "FileSink"), self._assigner, self._policy, self._config)
            return FileSink(self._path, self._encoder, files, self._interval_ms)


_T = TypeVar("_T")


def _checked(value: _T, expected: type[object], method: str) -> _T:
    if not isinstance(value, expected):
        raise BadInput(f"FileSink.{method}: expected a {expected.__name__}, got {value!r:.60}")
    return value
