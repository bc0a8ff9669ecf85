"""Files, under the name of PyFlink's module."""

from __future__ import annotations

from flowsim.connectors.file_system.policies import (
    BucketAssigner,
    DefaultRollingPolicy,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    RollingPolicy,
)
from flowsim.connectors.file_system.sink import FileSink
from flowsim.connectors.file_system.source import (
    FileEnumeratorProvider,
    FileSource,
    FileSourceBuilder,
    FileSplitAssignerProvider,
    StreamFormat,
)

__all__ = [
    "BucketAssigner",
    "DefaultRollingPolicy",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "OnCheckpointRollingPolicy",
    "OutputFileConfig",
    "RollingPolicy",
    "StreamFormat",
]
