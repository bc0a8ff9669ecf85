"""The headers of Parquet pages, compared with what was written; and bytes that are no pages."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flowsim.recording.parquet_pages import DATA_PAGE, DATA_PAGE_V2, DICTIONARY_PAGE, PLAIN, Page, pages

ROWS = 1_000


def written(**options: object) -> tuple[bytes, pq.ColumnChunkMetaData]:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"number": pa.array(range(ROWS), pa.int64())}), sink, **options)
    content = sink.getvalue().to_pybytes()
    with pq.ParquetFile(pa.BufferReader(content)) as file:
        return content, file.metadata.row_group(0).column(0)


def listed(content: bytes, chunk: pq.ColumnChunkMetaData) -> list[Page]:
    start = chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset
    return list(pages(content, start, chunk.total_compressed_size))


@pytest.mark.parametrize("compression", ["zstd", "snappy", "gzip", "none"])
@pytest.mark.parametrize(("version", "kind"), [("1.0", DATA_PAGE), ("2.0", DATA_PAGE_V2)])
def test_pages_state_their_values_and_their_size_before_compression(version: str, kind: int, compression: str) -> None:
    content, chunk = written(
        use_dictionary=False,
        data_page_version=version,
        compression=compression,
        data_page_size=1_000,
        write_batch_size=100,
    )
    found = listed(content, chunk)
    assert len(found) > 1
    assert sum(page.values for page in found) == ROWS
    assert sum(page.uncompressed_bytes for page in found) >= 8 * ROWS
    assert {(page.kind, page.encoding) for page in found} == {(kind, PLAIN)}


def test_dictionary_is_a_page() -> None:
    content, chunk = written(use_dictionary=True)
    first, *rest = listed(content, chunk)
    assert (first.kind, first.values, first.uncompressed_bytes) == (DICTIONARY_PAGE, ROWS, 8 * ROWS)
    assert [page.kind for page in rest] == [DATA_PAGE]


def test_statistics_in_a_header_are_skipped() -> None:
    content, chunk = written(use_dictionary=False, write_statistics=True, write_page_checksum=True)
    assert sum(page.values for page in listed(content, chunk)) == ROWS


NO_PAGES = (
    b"", b"\x00", b"\xff" * 40, b"\x15" * 40, b"\x15\x00\x15\x02", b"\x1c" * 200, b"\x19\xfc" + b"\xff" * 9 + b"\x01",
    b"\x1b\xff\x7f\xcc",
)  # fmt: skip


@pytest.mark.parametrize("content", NO_PAGES)
def test_bytes_that_are_no_pages_are_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"page|column"):
        list(pages(content, 0, len(content)))


@pytest.mark.parametrize(("start", "size"), [(4, 10**9), (-1, 10), (10**9, 1), (4, -4)])
def test_columns_outside_the_file_are_refused(start: int, size: int) -> None:
    content, _ = written()
    with pytest.raises(ValueError, match="outside"):
        list(pages(content, start, size))


def test_every_cut_of_a_column_is_refused() -> None:
    content, chunk = written(use_dictionary=False)
    for size in range(1, 60):
        with pytest.raises(ValueError, match="page"):
            list(pages(content, chunk.data_page_offset, size))
