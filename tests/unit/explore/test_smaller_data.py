"""Fewer parts of a scenario: what is left out, and what stays."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flowsim.explore.smaller_data import Document, records_of, smaller
from flowsim.scenario.yaml.positions import read_document

TEXT = """\
sources:
  rows: {parallelism: 2, collection: {fields: {n: long}, rows: [[1], [2], [3], [4], [5]]}}
  script: {script: {subtasks: [[{record: [1]}, {watermark: 3}, {record: [7]}], [{record: [9]}]]}}
  many: {generator: {count: 1000, fields: {n: {sequence: {}}}}}
operators:
  sums: {input: rows, parallelism: 4}
settings: {seed: 3, buffer_timeout: 10 ms}
"""


def document() -> Document:
    value = read_document(TEXT, "job.yaml").value
    assert isinstance(value, dict)
    return value


def text_of(one: Document) -> str:
    return str(one).replace("'", "")


@pytest.mark.parametrize(
    ("needs", "records"),
    [
        (["[3]"], 2),
        (["{record: [7]}", "{record: [9]}"], 3),
        (["seed: 3"], 1),
        (["parallelism: 4"], 1),
    ],
)
def test_only_what_is_needed_stays(needs: list[str], records: int) -> None:
    found = smaller(document(), lambda one: all(need in text_of(one) for need in needs))
    assert all(need in text_of(found) for need in needs)
    assert records_of(found) == records


def test_count_is_halved_as_long_as_the_finding_stays() -> None:
    def count(one: Document) -> int:
        return int(str(one).partition("'count': ")[2].partition(",")[0])

    assert count(smaller(document(), lambda one: count(one) >= 100)) == 125


def test_document_is_not_changed_and_each_try_counts() -> None:
    first, tried = document(), list[Document]()

    def refuse(one: Document) -> bool:
        tried.append(one)
        return False

    assert smaller(first, refuse, tries=7) is first
    assert (len(tried), first) == (7, document())


def test_nothing_is_left_out_twice() -> None:
    seen: list[str] = []
    is_new: Callable[[Document], bool] = lambda one: seen.append(text_of(one)) is None  # noqa: E731
    found = smaller(document(), is_new)
    assert len(set(seen)) == len(seen)
    assert (records_of(document()), records_of(found)) == (1009, 1)
    assert text_of(found) == text_of(
        {
            "sources": {
                "rows": {"collection": {"fields": {"n": "long"}, "rows": []}},
                "script": {"script": {"subtasks": [[], []]}},
                "many": {"generator": {"count": 1, "fields": {"n": {"sequence": {}}}}},
            },
            "operators": {"sums": {"input": "rows"}},
        }
    )
