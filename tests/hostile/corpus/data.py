"""Data files: too large, compressed to nothing, damaged, in other encodings, and of other shapes than declared."""

from __future__ import annotations

import gzip
import io
import json
import os
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.hostile.case import FAILED, REFUSED, Call, Case, Make
from tests.hostile.inputs import Text, run, scenario

MIB = 1 << 20
COLUMNS = {"n": "long", "word": "string"}
GOOD = b"n,word\n" + b"".join(b"%d,%d\n" % (n, n * 7919) for n in range(20_000))
OBJECTS = b"".join(b'{"n": %d, "word": "%d"}\n' % (n, n * 7919) for n in range(5_000))


def of(name: str, content: Text, *options: str, columns: Mapping[str, str] = COLUMNS, more: str = "") -> Make:
    """``flowsim run`` of a scenario that reads this file; its kind is the ending of its name."""
    kind = name.removesuffix(".gz").rpartition(".")[2]
    declared = "fields" if kind == "jsonl" else "columns"
    source = f"{kind}: {{path: {name}, {declared}: {json.dumps(dict(columns))}{more}}}"
    return run(scenario(source=source), *options, files={name: content})


def csv(content: Text, *options: str, columns: Mapping[str, str] = COLUMNS, more: str = "") -> Make:
    return of("in.csv", content, *options, columns=columns, more=more)


def jsonl(content: Text, *options: str) -> Make:
    return of("in.jsonl", content, *options)


def parquet(make: Callable[[], bytes], *options: str) -> Make:
    return of("in.parquet", make, *options)


def sparse(name: str, size: int, begin: bytes = b"") -> Make:
    """A file of this size that occupies no blocks."""

    def make(folder: Path) -> Call:
        call = of(name, begin)(folder)
        os.truncate(folder / name, size)
        return call

    return make


def bomb(block: bytes, blocks: int, begin: bytes = b"n,word\n") -> Callable[[], bytes]:
    """A ``.gz`` file that expands to many blocks."""

    def make() -> bytes:
        packer = zlib.compressobj(9, wbits=31)
        parts = [packer.compress(begin), *(packer.compress(block) for _ in range(blocks)), packer.flush()]
        return b"".join(parts)

    return make


def packed(content: bytes, begin: int, end: int, instead: bytes = b"") -> bytes:
    """A ``.gz`` file with other bytes from ``begin`` to ``end``."""
    whole = gzip.compress(content, mtime=0)
    return whole[:begin] + instead + whole[end:]


def table(columns: Mapping[str, object], **options: object) -> Callable[[], bytes]:
    """The bytes of a Parquet file."""

    def make() -> bytes:
        written = io.BytesIO()
        pq.write_table(pa.table(dict(columns)), written, **options)
        return written.getvalue()

    return make


def damaged(begin: int, end: int, instead: bytes = b"") -> Callable[[], bytes]:
    """A Parquet file with other bytes from ``begin`` to ``end``."""

    def make() -> bytes:
        whole = table({"n": pa.array(range(50_000), pa.int64()), "word": [f"w{n % 7}" for n in range(50_000)]})()
        return whole[:begin] + instead + whole[end:]

    return make


def not_utf8() -> bytes:
    word = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff"))
    return table({"n": [1], "word": word})()


def different_texts() -> bytes:
    texts = ["x" * MIB + str(n) for n in range(300)]
    return table({"n": pa.array(range(300), pa.int64()), "word": texts}, compression="zstd", use_dictionary=False)()


def large_texts() -> bytes:
    return table({"n": [1, 2], "word": ["x" * (3 * MIB), "y"]}, compression="zstd")()


def twice() -> bytes:
    written = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array(["x"])], ["n", "n", "word"]), written)
    return written.getvalue()


RAISE_FILE, RAISE_ROW = "--limit file_bytes=", "--limit row_bytes="
AGAIN = "create or copy"
UTF8 = "convert the file to UTF-8"

CASES = [
    Case("csv of 20 GB", sparse("in.csv", 20 << 30, b"n,word\n"), REFUSED, "in.csv: expected a file of at most", RAISE_FILE),
    Case("csv of 2 GB of zeros", sparse("in.csv", 2 << 30), REFUSED, "in.csv: expected a file of at most", RAISE_FILE),
    Case("csv of 500 MB of zeros", sparse("in.csv", 500 * MIB), REFUSED, "in.csv:1:1 expected a line of at most", RAISE_ROW),
    Case("csv of 300 MB of zeros after its header", sparse("in.csv", 300 * MIB, b"n,word\n"), FAILED, "in.csv:2:1 expected a line of at most", RAISE_ROW),
    Case("jsonl of 20 GB", sparse("in.jsonl", 20 << 30, b"{}\n"), REFUSED, "in.jsonl: expected a file of at most", RAISE_FILE),
    Case("jsonl of 300 MB of zeros", sparse("in.jsonl", 300 * MIB), REFUSED, "in.jsonl:1:1 expected a line of at most", RAISE_ROW),
    Case("jsonl of zeros after a row", sparse("in.jsonl", 300 * MIB, b"{}\n"), FAILED, "in.jsonl:2:1 expected a line of at most", RAISE_ROW),
    Case("parquet of 20 GB", sparse("in.parquet", 20 << 30, b"PAR1"), REFUSED, "in.parquet: expected a file of at most", RAISE_FILE),
    Case("parquet of 300 MB of zeros", sparse("in.parquet", 300 * MIB, b"PAR1"), REFUSED, "in.parquet: cannot be read as Parquet", AGAIN),
    Case("gz of 20 GB", sparse("in.csv.gz", 20 << 30), REFUSED, "in.csv.gz: expected a file of at most", RAISE_FILE),
    Case("lowered limit of files", csv(GOOD, "--limit", "file_bytes=100 KiB"), REFUSED, "in.csv: expected a file of at most 102400 bytes", RAISE_FILE),
    Case("lowered limit of content", of("in.csv.gz", gzip.compress(GOOD), "--limit", "file_bytes=200 KiB"), FAILED, "in.csv.gz: expected content of at most 204800 bytes", RAISE_FILE),
    Case("gz bomb of one line", of("in.csv.gz", bomb(bytes(MIB), 200, b"")), REFUSED, "in.csv.gz:1:1 expected a line of at most", RAISE_ROW),
    Case("gz bomb of a header", of("in.csv.gz", bomb(b"n," * (MIB // 2), 100, b"")), REFUSED, "in.csv.gz:1:1 expected a line of at most", RAISE_ROW),
    Case("gz bomb of blank lines", of("in.csv.gz", bomb(b"\n" * MIB, 200)), FAILED, "in.csv.gz: expected content at most 250 times", "--limit gzip_ratio="),
    Case("gz bomb of long rows", of("in.csv.gz", bomb(b"1," + b"x" * 500_000 + b"\n", 400)), FAILED, "in.csv.gz: expected content at most 250 times", "--limit gzip_ratio="),
    Case("gz bomb of a field", of("in.csv.gz", bomb(bytes(MIB), 300, b"n,word\n1,")), FAILED, "in.csv.gz:2:1 expected a line of at most", RAISE_ROW),
    Case("gz bomb of a quoted field", of("in.csv.gz", bomb(b"x\n" * (MIB // 2), 100, b'n,word\n1,"')), FAILED, "in.csv.gz:2:1 expected a row of at most", RAISE_ROW),
    Case("gz bomb of jsonl", of("in.jsonl.gz", bomb(b"\n" * MIB, 200, b"{}\n")), FAILED, "in.jsonl.gz: expected content at most 250 times", "--limit gzip_ratio="),
    Case("gz bomb inside gz", of("in.csv.gz", lambda: gzip.compress(bomb(bytes(MIB), 2000)())), REFUSED, "in.csv.gz:1:1 expected a header line", UTF8),
    Case("header of 3 MB", csv(b"n" * (3 * MIB)), REFUSED, "in.csv:1:1 expected a line of at most", RAISE_ROW),
    Case("header of 20,000 columns", csv(b",".join(b"c%d" % n for n in range(20_000))), REFUSED, "in.csv:1:1 expected at most 10000 fields", "--limit columns="),
    Case("header of 500,000 commas", csv(b"," * 500_000 + b"\n"), REFUSED, "in.csv:1:1 expected at most 10000 fields", "--limit columns="),
    Case("field of 3 MB", csv(b"n,word\n1," + b"x" * (3 * MIB) + b"\n"), FAILED, "in.csv:2:1 expected a line of at most", RAISE_ROW),
    Case("field of 30 MB", csv(lambda: b"n,word\n1,x\n1," + b"x" * (30 * MIB) + b"\n"), FAILED, "in.csv:3:1 expected a line of at most", RAISE_ROW),
    Case("quoted field of 3 MB", csv(b'n,word\n1,"' + b"x\n" * (3 * MIB // 2) + b'"\n'), FAILED, "in.csv:2:1 expected a row of at most", RAISE_ROW),
    Case("field of 3 MB of quotes", csv(b"n,word\n1," + b'"' * (3 * MIB) + b"\n"), FAILED, "in.csv:2:1 expected a line of at most", RAISE_ROW),
    Case("row of 500,000 fields", csv(b"n,word\n" + b"," * 500_000 + b"\n"), FAILED, "in.csv:2:1 expected at most 10000 fields", "--limit columns="),
    Case("row of 900,000 quotes", csv(b'n,word\nx,"' + b'"' * 900_000 + b"\n1,x\n"), FAILED, "in.csv:2:1", "a quote that is never closed"),
    Case("row of many short quoted fields", csv(b"n,word\n" + b'"",' * 200_000 + b"\n"), FAILED, "in.csv:2:1 expected at most 10000 fields", "--limit columns="),
    Case("quote that is never closed", csv(b'n,word\n1,"x\n2,y\n'), FAILED, "in.csv:2:1", "a quote that is never closed: close it, or double it"),
    Case("first quote that is never closed", csv(b'n,word\n"1,x\n2,y\n'), FAILED, "in.csv:2:1", "a quote that is never closed: close it, or double it"),
    Case("quote in the header that is never closed", csv(b'n,"word\n1,x\n'), REFUSED, "in.csv:1:1", "a quote that is never closed: close it, or double it"),
    Case("empty csv", csv(b""), REFUSED, "in.csv:1:1 the file is empty", "expected a header line"),
    Case("csv of blank lines", csv(b"\n\r\n\n"), REFUSED, "in.csv:1:1 the file is empty", "expected a header line"),
    Case("csv of a byte order mark", csv(b"\xef\xbb\xbf"), REFUSED, "in.csv:1:1 the file is empty", "expected a header line"),
    Case("csv of NUL", csv(bytes(1000)), REFUSED, "in.csv:1:1 expected a header line", "NUL bytes"),
    Case("csv in UTF-16", csv("n,word\n1,x\n".encode("utf-16")), REFUSED, "in.csv:1:1 expected a header line", f"got UTF-16: {UTF8}"),
    Case("csv in UTF-16 with the other order", csv(b"\xfe\xff" + "n,word\n".encode("utf-16-be")), REFUSED, "in.csv:1:1 expected a header line", f"got UTF-16: {UTF8}"),
    Case("csv in UTF-16 without a mark", csv("n,word\n1,x\n".encode("utf-16-le")), REFUSED, "in.csv:1:1 expected a header line", "NUL bytes"),
    Case("csv in UTF-32", csv("n,word\n1,x\n".encode("utf-32")), REFUSED, "in.csv:1:1 expected a header line", "got UTF-16"),
    Case("header in Latin-1", csv("n,wörd\n1,x\n".encode("latin-1")), REFUSED, "in.csv:1:3 expected a header line", UTF8),
    Case("field in Latin-1", csv("n,word\n1,x\n2,ö\n".encode("latin-1")), FAILED, "in.csv:3:3 column 'word': expected UTF-8 text", UTF8),
    Case("image as csv", csv(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), REFUSED, "in.csv:1:1 expected a header line", UTF8),
    Case("gz without its ending", csv(gzip.compress(GOOD, mtime=0)), REFUSED, "in.csv:1:1 expected a header line", "not UTF-8"),
    Case("csv with the ending gz", of("in.csv.gz", GOOD), REFUSED, "in.csv.gz: the .gz file is damaged in or after line 1 ", AGAIN),
    Case("empty gz", of("in.csv.gz", b""), REFUSED, "in.csv.gz:1:1 the file is empty", "expected a header line"),
    Case("gz cut in its header", of("in.csv.gz", packed(GOOD, 6, 10**9)), REFUSED, "in.csv.gz: the .gz file is damaged in or after line 1 ", AGAIN),
    Case("gz cut in the middle", of("in.csv.gz", packed(GOOD, 40_000, 10**9)), FAILED, "in.csv.gz: the .gz file is damaged in or after line ", AGAIN),
    Case("gz cut at its end", of("in.csv.gz", packed(GOOD, -4, 10**9)), FAILED, "in.csv.gz: the .gz file is damaged in or after line 20001 ", AGAIN),
    Case("gz with another checksum", of("in.csv.gz", packed(GOOD, -8, -4, b"abcd")), FAILED, "in.csv.gz: the .gz file is damaged in or after line 20001 ", AGAIN),
    Case("gz with other bytes", of("in.csv.gz", packed(GOOD, 30_000, 30_050, b"\xff" * 50)), FAILED, "in.csv.gz: the .gz file is damaged in or after line ", AGAIN),
    Case("gz with text after it", of("in.csv.gz", gzip.compress(GOOD) + b"text"), FAILED, "in.csv.gz: the .gz file is damaged in or after line 20002 ", AGAIN),
    Case("second gz cut", of("in.csv.gz", gzip.compress(GOOD) + gzip.compress(b"1,x\n" * 9999)[:40]), FAILED, "in.csv.gz: the .gz file is damaged in or after line ", AGAIN),
    Case("jsonl gz cut", of("in.jsonl.gz", packed(OBJECTS, 20_000, 10**9)), FAILED, "in.jsonl.gz: the .gz file is damaged in or after line ", AGAIN),
    Case("column twice", csv(b"n,word,n\n1,x,2\n"), REFUSED, "in.csv:1:1 the header has column 'n' more than once", "s.yaml:4:"),
    Case("column with another name", csv(b"n,wrod\n1,x\n"), REFUSED, "in.csv:1:1 no column 'word' (did you mean 'wrod'?)", "the header has: n, wrod"),
    Case("columns with spaces", csv(b"n, word\n1, x\n"), REFUSED, "in.csv:1:1 no column 'word' (did you mean ' word'?)", "the header has"),
    Case("columns between semicolons", csv(b"n;word\n1;x\n"), REFUSED, "in.csv:1:1 no column 'n', 'word'", "set it as delimiter"),
    Case("columns between tabs", csv(b"n\tword\n1\tx\n"), REFUSED, "in.csv:1:1 no column 'n', 'word'", "set it as delimiter"),
    Case("control characters in the header", csv(b"\x1b[2J,\x07\n1,x\n"), REFUSED, "in.csv:1:1 no column 'n'", "the header has"),
    Case("csv without a header", csv(b"1,x\n2,y\n"), REFUSED, "in.csv:1:1 no column 'n', 'word'", "the header has: 1, x"),
    Case("row with a field too many", csv(b"n,word\n1,x\n2,y,z\n"), FAILED, "in.csv:3:1 expected 2 fields", "correct the row"),
    Case("row with a field missing", csv(b"n,word\n1,x\n2\n3,z\n"), FAILED, "in.csv:3:1 expected 2 fields", "correct the row"),
    Case("ragged row behind CRLF", csv(b"n,word\r\n1,x\r\n2\r\n"), FAILED, "in.csv:3:1 expected 2 fields", "correct the row"),
    Case("ragged row behind a byte order mark", csv(b"\xef\xbb\xbfn,word\n1\n"), FAILED, "in.csv:2:1 expected 2 fields", "correct the row"),
    Case("ragged row behind CR", csv(b"n,word\r1,x\r2\r"), FAILED, "in.csv:3:1 expected 2 fields", "correct the row"),
    Case("text as a number", csv(b"n,word\n1,x\nabc,y\n"), FAILED, "in.csv:3:1 column 'n': expected a long", "got 'abc'"),
    Case("double as a long", csv(b"n,word\n1.5,x\n"), FAILED, "in.csv:2:1 column 'n': expected a long", "got '1.5'"),
    Case("number beyond 64 bits", csv(b"n,word\n9223372036854775808,x\n"), FAILED, "in.csv:2:1 column 'n': expected a long", "got '9223372036854775808'"),
    Case("number of a million digits", csv(b"n,word\n" + b"9" * 1_000_000 + b",x\n"), FAILED, "in.csv:2:1 column 'n': expected a long", "got '999"),
    Case("digits of another script", csv("n,word\n٣,x\n"), FAILED, "in.csv:2:1 column 'n': expected a long", "got '٣'"),
    Case("number with underscores", csv(b"n,word\n1_000,x\n"), FAILED, "in.csv:2:1 column 'n': expected a long", "got '1_000'"),
    Case("infinite boolean", csv(b"n,word\ninf,x\n", columns={"n": "boolean"}), FAILED, "in.csv:2:1 column 'n': expected a boolean", "got 'inf'"),
    Case("fault behind quoted lines", csv(b'n,word\n1,"a\nb""c"\n"2",y\nq,z\n'), FAILED, "in.csv:5:1 column 'n': expected a long", "got 'q'"),
    Case("fault behind a quote in a field", csv(b'n,word\n1,12" pipe\nq,z\n'), FAILED, "in.csv:3:1 column 'n': expected a long", "got 'q'"),
    Case("too many groups", csv(GOOD, more=", split_by: n"), REFUSED, "in.csv: column 'n' has more than 10000 values", "declare the groups"),
    Case("value in no group", csv(b"n,word\n1,x\n2,y\n", more=", split_by: n, groups: [1]"), REFUSED, "in.csv:3:1 column 'n'", "belongs to no declared group"),
    Case("object that is cut off", jsonl(b'{"n": 1}\n{"n": 2, "wo'), FAILED, "in.jsonl:2:", "expected one JSON object in each line"),
    Case("object over several lines", jsonl(b'{\n"n": 1\n}\n'), FAILED, "in.jsonl:1:", "expected one JSON object in each line"),
    Case("array of objects", jsonl(b'[{"n": 1},\n{"n": 2}]\n'), FAILED, "in.jsonl:1:", "expected one JSON object in each line"),
    Case("array in a line", jsonl(b"[1, 2]\n"), FAILED, "in.jsonl:1:1", "expected an object such as"),
    Case("two objects in a line", jsonl(b'{"n": 1}{"n": 2}\n'), FAILED, "in.jsonl:1:9 invalid JSON", "expected one JSON object in each line"),
    Case("csv as jsonl", jsonl(b"n,word\n1,x\n"), FAILED, "in.jsonl:1:1 invalid JSON", "expected one JSON object in each line"),
    Case("200,000 brackets", jsonl(b"[" * 200_000), FAILED, "in.jsonl:1:1 invalid JSON", "write a flat object"),
    Case("90,000 brackets in an undeclared key", jsonl(b'{"x": ' + b"[" * 90_000 + b"]" * 90_000 + b"}"), FAILED, "in.jsonl:1:1 invalid JSON", "write a flat object"),
    Case("number of 5,000 digits", jsonl(b'{"n": ' + b"9" * 5_000 + b"}"), FAILED, "in.jsonl:1:1 invalid JSON", "write it as text"),
    Case("NaN", jsonl(b'{"n": NaN}\n'), FAILED, "in.jsonl:1:1 invalid JSON: JSON has no NaN", "write null or a number"),
    Case("long of 2^63", jsonl(b'{"n": 9223372036854775808}\n'), FAILED, "in.jsonl:1:7 key 'n': expected a long", "got 9223372036854775808"),
    Case("boolean as a long", jsonl(b'{"n": true}\n'), FAILED, "in.jsonl:1:7 key 'n': expected a long", "got true"),
    Case("object as a long", jsonl(b'{"n": {"a": 1}}\n'), FAILED, "in.jsonl:1:7 key 'n': expected a long", "got {"),
    Case("lone surrogate", jsonl(b'{"word": "\\ud800"}\n'), FAILED, "in.jsonl:1:10 key 'word': expected text", "got"),
    Case("line of 3 MB", jsonl(b'{}\n{"word": "' + b"x" * (3 * MIB) + b'"}\n'), FAILED, "in.jsonl:2:1 expected a line of at most", RAISE_ROW),
    Case("first line of 3 MB", jsonl(b'{"word": "' + b"x" * (3 * MIB) + b'"}\n'), REFUSED, "in.jsonl:1:1 expected a line of at most", RAISE_ROW),
    Case("jsonl in Latin-1", jsonl('{"n": 1}\n{"word": "ö"}\n'.encode("latin-1")), FAILED, "in.jsonl:2:11 expected UTF-8 text", UTF8),
    Case("undeclared key in Latin-1", jsonl('{"n": 1, "x": "ö"}\n'.encode("latin-1")), REFUSED, "in.jsonl:1:1 expected a JSON object", UTF8),
    Case("jsonl in UTF-16", jsonl('{"n": 1}\n'.encode("utf-16")), REFUSED, "in.jsonl:1:1 expected a JSON object", f"got UTF-16: {UTF8}"),
    Case("jsonl of NUL", jsonl(bytes(100)), REFUSED, "in.jsonl:1:1 expected a JSON object", "NUL bytes"),
    Case("NUL in a line", jsonl(b'{"n": 1}\n\0\n'), FAILED, "in.jsonl:2:1 invalid JSON", "expected one JSON object in each line"),
    Case("empty parquet", parquet(lambda: b""), REFUSED, "in.parquet: cannot be read as Parquet", AGAIN),
    Case("csv as parquet", parquet(lambda: b"n,word\n1,x\n"), REFUSED, "in.parquet: cannot be read as Parquet", AGAIN),
    Case("magic alone", parquet(lambda: b"PAR1" * 3), REFUSED, "in.parquet: cannot be read as Parquet", AGAIN),
    Case("parquet cut in the middle", parquet(damaged(5_000, 10**9)), REFUSED, "in.parquet: cannot be read as Parquet", AGAIN),
    Case("parquet with another footer", parquet(damaged(-300, -200, b"\xff" * 100)), REFUSED, "in.parquet: cannot be read as Parquet", AGAIN),
    Case("parquet with a huge footer", parquet(damaged(-8, -4, b"\xff\xff\xff\x7f")), REFUSED, "in.parquet: cannot be read as Parquet", AGAIN),
    Case("parquet with other pages", parquet(damaged(2_000, 2_500, b"\xff" * 500)), FAILED, "in.parquet: cannot be read after row ", AGAIN),
    Case("parquet with other page headers", parquet(damaged(4, 30, b"\xff" * 26)), FAILED, "in.parquet: cannot be read after row 0", AGAIN),
    Case("text as a long in parquet", parquet(table({"n": ["x"], "word": ["x"]})), REFUSED, "in.parquet: column 'n': expected a long", "the file has string"),
    Case("unsigned number", parquet(table({"n": pa.array([1], pa.uint64()), "word": ["x"]})), REFUSED, "in.parquet: column 'n': expected a long", "the file has uint64"),
    Case("nested column", parquet(table({"n": [[1]], "word": ["x"]})), REFUSED, "in.parquet: column 'n': expected a long", "the file has list"),
    Case("column that is missing in parquet", parquet(table({"m": [1], "word": ["x"]})), REFUSED, "in.parquet: no column 'n'", "it has: m, word"),
    Case("column twice in parquet", parquet(twice), REFUSED, "in.parquet: the file has column 'n' more than once", "rename one of them"),
    Case("11,000 columns in parquet", parquet(table({f"c{n}": [1] for n in range(11_000)})), REFUSED, "in.parquet: expected at most 10000 columns", "--limit columns="),
    Case("text that is not UTF-8 in parquet", parquet(not_utf8), FAILED, "in.parquet: column 'word', row 1", "UTF-8"),
    Case("text of 3 MB in parquet", parquet(large_texts), FAILED, "in.parquet: column 'word', row 1", RAISE_ROW),
    Case("100,000 row groups in parquet", parquet(table({"n": pa.array(range(100_000), pa.int64()), "word": ["x"] * 100_000}, row_group_size=1)), REFUSED, "in.parquet: expected a footer of at most", "--limit footer_bytes="),
    Case("gz with a name of 50 MB", of("in.csv.gz", lambda: b"\x1f\x8b\x08\x08" + bytes(6) + b"a" * (50 * MIB)), REFUSED, "in.csv.gz: the .gz file is damaged", AGAIN),
    Case("row group of 300 MB in a small parquet", parquet(different_texts), FAILED, "in.parquet: expected row groups of at most", "--limit row_group_bytes="),
]  # fmt: skip
