"""YAML: documents that are large, deep, many times wrong, or more than data."""

from __future__ import annotations

from tests.hostile.case import REFUSED, Case, Make
from tests.hostile.inputs import Text, check, records, run, scenario

K = 250_000
"""Nearly the largest scenario."""
VALUES = "--limit scenario_values="
HEAD = "flowsim: 1\nname: hostile\n"


def broken(text: Text) -> Make:
    """A document that is refused while it is read."""
    return check(text)


def unknown(keys: int, before: str, after: str = "") -> str:
    """Unknown keys, in a mapping."""
    return HEAD + before + "".join(f"  k{index}: 1\n" for index in range(keys)) + after


def wrong_operators(count: int, form: str) -> str:
    """Operators of which each has an error."""
    return scenario("\n".join(f"  o{index}: {form}" for index in range(count)), stream="o0")


CASES = [
    Case("empty file", broken(""), REFUSED, "s.yaml:1:1", "expected a scenario"),
    Case("list", broken("- a\n- b\n"), REFUSED, "s.yaml:1:1", "expected a mapping"),
    Case("text", broken("hello"), REFUSED, "s.yaml:1:1", "expected a mapping"),
    Case("other version", broken("flowsim: 2\n"), REFUSED, "s.yaml:1:10", "expected version 1"),
    Case("many unknown keys", broken(lambda: unknown(24_000, "")), REFUSED, "s.yaml:1:1", "--limit scenario_bytes="),
    Case("unknown mapping", broken(lambda: unknown(9_900, "x:\n")), REFUSED, "s.yaml:3:1", "unknown key 'x'"),
    Case("unknown settings", broken(lambda: unknown(9_900, "settings:\n")), REFUSED, "s.yaml:4:3", "and 9,852 more errors"),
    Case("unknown keys of the document", broken(lambda: HEAD + "".join(f"k{i}: 1\n" for i in range(9_900))), REFUSED,
         "s.yaml:", "more errors"),
    Case("unknown keys of operators", broken(lambda: wrong_operators(500, "{input: rows, fitler: n, mpa: 1, kye: 2}")), REFUSED,
         "s.yaml:6:", "more errors"),
    Case("wrong types", broken(lambda: wrong_operators(500, "[1, 2, 3]")), REFUSED, "s.yaml:6:", "and 450 more errors"),
    Case("operators without input", broken(lambda: wrong_operators(500, "{filter: true}")), REFUSED, "s.yaml:6:", "and 450 more"),
    Case("unknown streams", broken(lambda: wrong_operators(500, "{input: nowhere, filter: true}")), REFUSED, "s.yaml:6:",
         "the rest of the scenario was not checked"),
    Case("unknown fields", broken(lambda: wrong_operators(500, "{input: rows, filter: wrd == 'a'}")), REFUSED, "s.yaml:6:",
         "did you mean 'word'?", "the rest of the scenario was not checked"),
    Case("unknown laws", broken(lambda: scenario() + "expect: {laws: {" + ", ".join(f"l{i}: holds" for i in range(9000)) + "}}"),
         REFUSED, "s.yaml:6:", "the rest of the scenario was not checked"),
    Case("unknown sinks", broken(lambda: scenario() + "expect: {rows: {" + ", ".join(f"s{i}: 1" for i in range(9000)) + "}}"),
         REFUSED, "s.yaml:6:", "there is no sink"),
    Case("too many operators", broken(lambda: wrong_operators(501, "{input: rows, filter: true}")), REFUSED, "s.yaml:6:",
         "at most 500 entries"),
    Case("wrong rows", broken(lambda: scenario(source=records({"n": "long"}, *[["x"]] * 8000))), REFUSED, "s.yaml:4:",
         "expected a long"),
    Case("rows of another length", broken(lambda: scenario(source=records({"n": "long"}, *[[]] * 19_000))), REFUSED,
         "s.yaml:4:", "expected 1 value ("),
    Case("rows without lists", broken(lambda: scenario(source=f"collection: {{fields: {{n: long}}, rows: [{'1,' * 19_000}]}}")),
         REFUSED, "s.yaml:4:", "expected a list"),
    Case("long list", broken(lambda: "a: [" + "1," * (K // 2) + "]"), REFUSED, "s.yaml:1:", VALUES),
    Case("list over lines", broken(lambda: "a: [\n" + "1,\n" * (K // 3) + "]"), REFUSED, "s.yaml:", VALUES),
    Case("empty mappings", broken(lambda: "a:\n" + "- {}\n" * (K // 5)), REFUSED, "s.yaml:", VALUES),
    Case("flow mapping", broken(lambda: "{" + ",".join(f"k{i}: 1" for i in range(K // 10)) + "}"), REFUSED, "s.yaml:1:", VALUES),
    Case("dashes", broken(lambda: "- " * (K // 2)), REFUSED, "s.yaml:1:", "deeper than 32 levels"),
    Case("open brackets", broken(lambda: "[" * K), REFUSED, "s.yaml:1:33", "deeper than 32 levels"),
    Case("open braces", broken(lambda: "{" * K), REFUSED, "s.yaml:1:2", "expected a text as a key"),
    Case("nested mappings", broken(lambda: "{a: " * 1000), REFUSED, "s.yaml:1:", "deeper than 32 levels"),
    Case("indentation", broken(lambda: "".join(" " * i + "a:\n" for i in range(600))), REFUSED, "s.yaml:33:", "deeper than"),
    Case("aliases of aliases", broken("a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n"), REFUSED, "s.yaml:1:4",
         "anchors are not allowed"),
    Case("alias", broken("a: *b\n"), REFUSED, "s.yaml:1:4", "write the value out"),
    Case("many anchors", broken(lambda: "&a " * (K // 3)), REFUSED, "s.yaml:1:1", "anchors are not allowed"),
    Case("merge key", broken("<<: {a: 1}\n"), REFUSED, "s.yaml:1:1", "merge keys"),
    Case("python object", broken('a: !!python/object/apply:os.system ["id"]\n'), REFUSED, "s.yaml:1:4", "tags are not allowed"),
    Case("long tag", broken(lambda: "!" * K), REFUSED, "s.yaml:1:1", "tags are not allowed"),
    Case("tag directive", broken("%TAG ! tag:example.com,2000:\n---\na: 1\n"), REFUSED, "s.yaml:", "directives"),
    Case("many directives", broken(lambda: "%A b\n" * (K // 5)), REFUSED, "s.yaml:", "invalid YAML"),
    Case("many documents", broken(lambda: "---\n" * (K // 4)), REFUSED, "s.yaml:2:1", "expected one document"),
    Case("second document", broken(scenario() + "---\na: 1\n"), REFUSED, "s.yaml:6:1", "expected one document"),
    Case("duplicate key", broken(scenario() + "name: again\n"), REFUSED, "s.yaml:6:1", "first used in line 2"),
    Case("duplicate operator", broken(scenario("  a: {input: rows, filter: true}\n  a: {input: rows, filter: true}")), REFUSED,
         "s.yaml:7:3", "duplicate key 'a'"),
    Case("long key", broken(lambda: "x" * 1000 + ": 1"), REFUSED, "s.yaml:1:1", "a key of 1 to 200 characters"),
    Case("longer key", broken(lambda: "{" + "x" * K + ": 1}"), REFUSED, "s.yaml:1:2", "a key of 1 to 200 characters"),
    Case("key that is a list", broken("? [a, b]\n: 1\n"), REFUSED, "s.yaml:1:3", "expected a text as a key"),
    Case("many colons", broken(lambda: "a:" * (K // 2)), REFUSED, "s.yaml:1:", "invalid YAML"),
    Case("many quotes", broken(lambda: '"' * K), REFUSED, "s.yaml:1:", "invalid YAML"),
    Case("open quote", broken(lambda: 'a: "' + "x" * K), REFUSED, "s.yaml:1:", "invalid YAML"),
    Case("open block", broken(lambda: "flowsim: |\n" + "  xx\n" * (K // 5)), REFUSED, "s.yaml:1:10", "flowsim: expected 1"),
    Case("long text", broken(lambda: "flowsim: " + "xx " * (K // 3)), REFUSED, "s.yaml:1:10", "flowsim: expected 1"),
    Case("escapes", broken(lambda: 'flowsim: "' + "\\x41" * (K // 4) + '"'), REFUSED, "s.yaml:1:10", "flowsim: expected 1"),
    Case("blank lines", broken(lambda: "\n" * K), REFUSED, "s.yaml:1:1", "expected a scenario"),
    Case("comments", broken(lambda: "# xxxx\n" * (K // 7)), REFUSED, "s.yaml:1:1", "expected a scenario"),
    Case("blanks", broken(lambda: " " * K), REFUSED, "s.yaml:1:1", "expected a scenario"),
    Case("tab as indentation", broken("a:\n\tb: 1\n"), REFUSED, "s.yaml:2:1", "invalid YAML"),
    Case("invalid UTF-8", broken(b"a: \xff\n"), REFUSED, "s.yaml:1:4", "expected UTF-8"),
    Case("UTF-16", broken("a: 1\n".encode("utf-16")), REFUSED, "s.yaml:1:1", "expected UTF-8"),
    Case("lone surrogate", broken(b'name: "\\ud800"\n'), REFUSED, "s.yaml:1:", "without lone surrogates"),
    Case("surrogate in UTF-8", broken(b"name: \xed\xa0\x80\n"), REFUSED, "s.yaml:1:7", "expected UTF-8"),
    Case("merge conflict", broken("<<<<<<< HEAD\nflowsim: 1\n=======\n"), REFUSED, "s.yaml:", "invalid YAML"),
    Case("long description", broken(lambda: scenario() + "description: " + "x" * 5000), REFUSED, "s.yaml:6:14", "at most 4000"),
    Case("setting of a long text", check(scenario(), "--set", "name=" + "x" * 20_000), REFUSED, "--set name=", "expected key="),
    Case("setting of nested lists", check(scenario(), "--set", "name=" + "[" * 5000), REFUSED, "--set name=", "deeper than 32"),
    Case("setting of an alias", check(scenario(), "--set", "name=*a"), REFUSED, "--set name=", "aliases are not allowed"),
    Case("setting of an unknown key", check(scenario(), "--set", "settings.sed=1"), REFUSED, "--set settings.sed", "mean 'seed'"),
    Case("setting of a deep key", check(scenario(), "--set", "a" + ".b" * 4000 + "=1"), REFUSED, "--set a.b", "unknown key 'a' (known"),
    Case("setting of an index", check(scenario(), "--set", "actions[999999]=1"), REFUSED, "--set actions", "expected"),
    Case("run of unknown settings", run(lambda: unknown(9_000, "settings:\n")), REFUSED, "s.yaml:4:3", "more errors"),
]  # fmt: skip
