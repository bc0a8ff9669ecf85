"""Rows as JSON, under the name of PyFlink's module."""

from __future__ import annotations

from flowsim.connectors.formats.json_rows import JsonRowDeserializationSchema, JsonRowSerializationSchema

__all__ = ["JsonRowDeserializationSchema", "JsonRowSerializationSchema"]
