"""Segments, buffers and the pools that they come from."""
