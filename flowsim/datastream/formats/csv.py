"""Rows as CSV, under the name of PyFlink's module."""

from __future__ import annotations

from flowsim.connectors.formats.csv_rows import CsvRowDeserializationSchema, CsvRowSerializationSchema

__all__ = ["CsvRowDeserializationSchema", "CsvRowSerializationSchema"]
