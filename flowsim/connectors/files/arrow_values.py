"""Converts columns of Arrow to Python's values."""

from __future__ import annotations

import pyarrow as pa

from flowsim.recording.parquet_part import as_numpy


# Not Array.to_numpy: it imports pandas if installed, which takes longer than many files.
def arrow_values(array: pa.Array) -> list[object]:
    """Returns the values of a column; equal texts of a column are the same object."""
    kind = array.type
    if array.null_count or pa.types.is_boolean(kind):
        values: list[object] = array.to_pylist()
    elif pa.types.is_string(kind):
        encoded = array.dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        values = [texts[place] for place in arrow_values(encoded.indices)]
    else:
        values = as_numpy(pa.chunked_array([array])).tolist()
    return values
