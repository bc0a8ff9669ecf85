"""Schemas of messages and encoders of files, under the name of PyFlink's module ``pyflink.common.serialization``."""

from __future__ import annotations

from flowsim.connectors.schemas import (
    ByteArraySchema,
    DeserializationSchema,
    Encoder,
    RowFieldExtractorSchema,
    SerializationSchema,
    SimpleStringSchema,
)

__all__ = [
    "ByteArraySchema",
    "DeserializationSchema",
    "Encoder",
    "RowFieldExtractorSchema",
    "SerializationSchema",
    "SimpleStringSchema",
]
