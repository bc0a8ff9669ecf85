"""Rows as Avro records, under the name of PyFlink's module."""

from __future__ import annotations

from flowsim.connectors.formats.avro_rows import AvroRowDeserializationSchema, AvroRowSerializationSchema

__all__ = ["AvroRowDeserializationSchema", "AvroRowSerializationSchema"]
