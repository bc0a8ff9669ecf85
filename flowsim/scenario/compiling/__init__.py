"""Turns a valid scenario into a job of the DataStream API."""
