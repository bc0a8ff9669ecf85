"""Rows as CSV, under the name of PyFlink's module."""

from __future__ import annotations

from flowsim.connectors.formats.csv_files import CsvReaderFormat, CsvSchema, CsvSchemaBuilder
from flowsim.connectors.formats.csv_rows import CsvRowDeserializationSchema, CsvRowSerializationSchema

__all__ = [
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
]
