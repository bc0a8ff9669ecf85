"""Reading YAML: plain data with positions, without unsafe features."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.errors import ScenarioError, SourcePosition
from flowsim.limits import DEFAULT_LIMITS
from flowsim.scenario.yaml.positions import decode, path_text, read_document

pytestmark = pytest.mark.timeout(20)

REFUSED = [
    text.strip("\n").replace("\\n", "\n").replace("\\t", "\t")
    for text in (Path(__file__).parent / "escapes" / "documents.txt")
    .read_text(encoding="utf-8")
    .split("\n", 1)[1]
    .split("%%\n")
]


def test_every_value_and_key_has_its_position() -> None:
    document = read_document("a: 1\nlist:\n  - x\n  - {b: 'text', c: 2.5}\n", "s.yaml")
    assert document.value == {"a": 1, "list": ["x", {"b": "text", "c": 2.5}]}
    assert document.position(("a",)) == SourcePosition("s.yaml", 1, 4)
    assert document.key_position(("a",)) == SourcePosition("s.yaml", 1, 1)
    assert document.position(("list", 1, "b")) == SourcePosition("s.yaml", 4, 9)
    assert document.key_position(("list", 1, "c")) == SourcePosition("s.yaml", 4, 17)
    assert document.position_inside(("list", 1, "b"), 2) == SourcePosition("s.yaml", 4, 12)
    assert document.position(("list", 1, "missing", 7)) == SourcePosition("s.yaml", 4, 5)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-7", -7),
        ("+3", 3),
        ("007", 7),
        ("9223372036854775807", 2**63 - 1),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("-.5", -0.5),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("'1'", "1"),
        ('"true"', "true"),
        ("00:30", "00:30"),
        ("1.2.3", "1.2.3"),
        ("2013-01-01", "2013-01-01"),
        ("100 ms", "100 ms"),
        ("-", [None]),
        ("1 # x", 1),
        ("- 1\n- 2", [1, 2]),
        ("[]", []),
        ("{}", {}),
        ("'a''b'", "a'b"),
        ("|\n  a\n  b", "a\nb"),
        (">\n  a\n  b\n", "a b\n"),
        ("-9223372036854775808", -(2**63)),
        ("0000000000000000001", 1),
    ],
)
def test_scalars_have_the_expected_type(text: str, value: object) -> None:
    read = read_document(text, "s.yaml").value
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize("text", REFUSED)
def test_ambiguous_or_unsafe_yaml_is_refused_with_position(text: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        read_document(text, "s.yaml")
    assert refused.value.position is not None
    assert str(refused.value).startswith("s.yaml:")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "# only a comment",
        "[" * 1000,
        "[" * 1000 + "]" * 1000,
        "{a: " * 500,
        "- " * 500 + "x",
        "a: " + "9" * 100_000,
        "a: 1." + "9" * 100_000,
        "a: 1e" + "9" * 100_000,
        "[" + "1," * 50_001 + "1]",
        "x" * 201 + ": 1",
        "\0",
        "a: \x01",
        "a: \ud800",
        "? " * 400,
        "a: " * 300,
        "&" * 1000,
        "*" * 1000,
        "!" * 1000,
        "'" * 999,
        '"\\u' * 300,
        "%" * 1000,
        "---\n" * 1000,
        "{" * 40,
    ],
)
def test_malicious_yaml_is_refused(text: str) -> None:
    with pytest.raises(ScenarioError):
        read_document(text, "s.yaml")


def test_file_must_be_small_utf8_text() -> None:
    with pytest.raises(ScenarioError, match=r"s\.yaml:2:3 expected UTF-8 text, got byte 0xff"):
        decode(b"a: 1\nb:\xff", "s.yaml")
    with pytest.raises(ScenarioError, match=f"at most {DEFAULT_LIMITS.scenario_bytes} bytes"):
        decode(b" " * (DEFAULT_LIMITS.scenario_bytes + 1), "s.yaml")
    assert read_document(decode(b"\xef\xbb\xbfa: \xc3\xa9", "s.yaml"), "s.yaml").value == {"a": "é"}


def test_path_text_joins_keys_and_indexes() -> None:
    assert path_text(("operators", "hourly", "rows", 3, "x")) == "operators.hourly.rows[3].x"
    assert path_text(()) == "the document"


@pytest.mark.parametrize("escape", ["\\U00110000", "\\UFFFFFFFF", "text \\U80000000"])
def test_escape_of_no_character_has_the_position_of_its_text(escape: str) -> None:
    with pytest.raises(ScenarioError, match=r"s\.yaml:2:7 .* is no character: the last one is"):
        read_document(f'flowsim: 1\nname: "{escape}"\nother: 2\n', "s.yaml")


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r", "\x85", "\u2028", "\u2029"])
def test_position_of_a_character_counts_every_line_break_of_yaml(line_break: str) -> None:
    text = f"\ufeffflowsim: 1{line_break}name: é\x07{line_break}"
    with pytest.raises(ScenarioError, match=r"s\.yaml:2:8 control character U\+0007"):
        read_document(text, "s.yaml")
    with pytest.raises(ScenarioError, match=r"s\.yaml:2:8 expected UTF-8 text, got byte 0xff"):
        decode(text.replace("\x07", "?").encode().replace(b"?", b"\xff"), "s.yaml", DEFAULT_LIMITS)
