"""Terminal: control characters in scenarios, names of files, headers and data."""

from __future__ import annotations

import json

from tests.hostile.case import FAILED, REFUSED, Case, Make
from tests.hostile.inputs import check, command, evaluated, records, run, scenario, steps

ESC, CSI, BELL, BACK = "\x1b[31mred", "\x9b31m", "\x07", "\x08\x08\x08"
TURNED = "\u202eabc"


def csv(text: str, columns: str = "n: long", *options: str) -> Make:
    """A run over a CSV file."""
    source = f"csv: {{path: in.csv, columns: {{{columns}}}}}"
    return run(scenario(source=source), *options, files={"in.csv": text})


def key(name: str) -> Make:
    """A scenario with an unknown setting."""
    return check(scenario(settings=f"{json.dumps(name)}: 1"))


def failing(word: str) -> Make:
    """A record with this word, for which an expression fails."""
    return run(steps("str(n // (n - 7))", word=word))


def reading(operators: str, stream: str = "x") -> Make:
    """Operators over a record with control characters."""
    source = records({"word": "string", "n": "long"}, [ESC + TURNED, 7])
    return run(scenario(operators, source, stream=stream))


CASES = [
    Case("null character", check("flowsim: 1\nname: a\0b\n"), REFUSED, "s.yaml:2:8", "U+0000", "double-quoted"),
    Case("escape", check(f"flowsim: 1\nname: {ESC}\n"), REFUSED, "s.yaml:2:7", "U+001B", "remove it"),
    Case("escape in a comment", check(f"flowsim: 1\n\n# {ESC}\n"), REFUSED, "s.yaml:3:3", "U+001B", "remove it"),
    Case("escape after CR LF", check(f"flowsim: 1\r\nname: {ESC}\r\n"), REFUSED, "s.yaml:2:7", "U+001B", "remove it"),
    Case("bell", check(f"flowsim: 1\nname: {BELL}\n"), REFUSED, "s.yaml:2:7", "U+0007", "remove it"),
    Case("backspaces", check(f"flowsim: 1\nname: a{BACK}\n"), REFUSED, "s.yaml:2:8", "U+0008", "remove it"),
    Case("control sequence introducer", check(f"flowsim: 1\nname: {CSI}\n"), REFUSED, "s.yaml:2:7", "U+009B", "remove it"),
    Case("delete", check("flowsim: 1\nname: \x7f\n"), REFUSED, "s.yaml:2:7", "U+007F", "remove it"),
    Case("null character at the end", check("flowsim: 1\n\0"), REFUSED, "s.yaml:2:1", "U+0000", "remove it"),
    Case("escape in a setting", check(scenario(), "--set", f"name={ESC}"), REFUSED, "--set name=", "U+001B"),
    Case("key with an escape", key(ESC), REFUSED, "s.yaml:3:12", r"settings.\u001b[31mred", "unknown key"),
    Case("key with a line end", key("a\nerror: fine"), REFUSED, "s.yaml:3:12", r"settings.a\nerror: fine", "unknown key"),
    Case("key that turns the text", key(TURNED), REFUSED, "s.yaml:3:12", r"\u202eabc", "unknown key"),
    Case("key with CR", key("a\rb"), REFUSED, "s.yaml:3:12", r"a\u000db", "unknown key"),
    Case("key with soft hyphens", key("se\u00aded"), REFUSED, "s.yaml:3:12", r"se\u00aded", "unknown key"),
    Case("invisible key", key("se\u200bed"), REFUSED, "s.yaml:3:12", r"se\u200bed", "did you mean 'seed'?"),
    Case("name with an escape", check(scenario().replace("hostile", json.dumps(ESC))), REFUSED, "s.yaml:2:7", "a name of letters"),
    Case("operator with an escape", check(scenario(f"  {json.dumps(ESC)}: {{input: rows, filter: true}}")), REFUSED, "s.yaml:6:3",
         "a name of letters"),
    Case("field with an escape", check(scenario(source=f"collection: {{fields: {{{json.dumps(ESC)}: long}}, rows: []}}")),
         REFUSED, "s.yaml:4:", "a field name"),
    Case("stream with an escape", check(scenario(stream=json.dumps(ESC))), REFUSED, "s.yaml:5:", r"got '\x1b[31mred'"),
    Case("expression with an escape", check(steps(f"word + {ESC}")), REFUSED, "s.yaml:6:", "not an expression"),
    Case("text of an expression with an escape", check(steps(f"wrd + '{ESC}'")), REFUSED, "s.yaml:6:", "did you mean 'word'?"),
    Case("expression that turns the text", check(steps(f"wrd + '{TURNED}'")), REFUSED, "s.yaml:6:", r"\u202eabc"),
    Case("cell with an escape", run(scenario(source=records({"n": "long"}, [ESC]))), REFUSED, "s.yaml:4:", "expected a long"),
    Case("law with an escape", check(scenario() + f"expect: {{laws: {{{json.dumps(ESC)}: holds}}}}\n"), REFUSED, "s.yaml:6:", "no law"),
    Case("fault with an escape", check(scenario() + f"faults: [{{fault: {json.dumps(ESC)}, operator: rows}}]\n"), REFUSED,
         "s.yaml:6:", "there is no fault"),
    Case("path with an escape", run(scenario(source=f"csv: {{path: {json.dumps(ESC)}, columns: {{n: long}}}}")), REFUSED,
         "s.yaml:4:", r"\x1b[31mred"),
    Case("file with an escape", command("check", f"{ESC}.yaml"), REFUSED, r"\u001b[31mred.yaml", "no such file"),
    Case("file that turns the text", command("check", f"{TURNED}.yaml"), REFUSED, r"\u202eabc.yaml", "no such file"),
    Case("recording with an escape", command("validate", ESC), REFUSED, r"\u001b[31mred", "no such recording"),
    Case("trace with an escape", command("trace", ESC), REFUSED, r"\u001b[31mred", "no such recording"),
    Case("metrics with an escape", command("metrics", ESC), REFUSED, r"\u001b[31mred", "no such recording"),
    Case("replay with an escape", command("replay", ESC), REFUSED, r"\u001b[31mred", "no such recording"),
    Case("limit with an escape", check(scenario(), "--limit", ESC), REFUSED, "--limit", "there is no limit"),
    Case("until with an escape", run(scenario(), "--until", ESC), REFUSED, "--until", "duration"),
    Case("as JSON", check(scenario(settings=f"{json.dumps(ESC + CSI + TURNED)}: 1"), "--json"), REFUSED, r"\u009b31m", "unknown key"),
    Case("file as JSON", command("check", f"{CSI}.yaml", "--json"), REFUSED, r"\u009b31m.yaml", "no such file"),
    Case("header with an escape", csv(f"{ESC},b\n1,2\n"), REFUSED, "in.csv:1:1", "no column 'n'", r"\x1b[31mred"),
    Case("header that turns the text", csv(f"{TURNED}\n1\n"), REFUSED, "in.csv:1:1", r"\u202eabc"),
    Case("header of a control sequence", csv(f"{CSI}\n1\n"), REFUSED, "in.csv:1:1", r"\x9b31m"),
    Case("row with an escape", csv(f"n\n{ESC}\n"), FAILED, "in.csv:2:1", "expected a long"),
    Case("row with an escape as JSON", csv(f"n\n{ESC}\n", "n: long", "--json"), FAILED, "in.csv:2:1", "expected a long"),
    Case("row that turns the text", csv(f"n\n{TURNED}\n"), FAILED, "in.csv:2:1", "expected a long"),
    Case("record with an escape", failing(ESC), FAILED, "operator step0", r"\x1b[31mred"),
    Case("record with a control sequence", failing(CSI), FAILED, "operator step0", r"\x9b31m"),
    Case("record that turns the text", failing(TURNED), FAILED, "operator step0", r"\u202eabc"),
    Case("text as a number", evaluated("str(int(word))", word=ESC), FAILED, "operator step0", "digits 0 to 9"),
    Case("key of a record", reading("  x: {input: rows, key_by: word, map: {add: {m: 'n // (n - 7)'}}}"), FAILED, "operator x",
         r"\x1b[31mred"),
    Case("printed records", reading("  x: {input: rows, map: {add: {m: 'n // (n - 7)'}}}\n  y: {input: rows, filter: true}"), FAILED,
         "operator x", "record ("),
    Case("collected records", run(scenario("  x: {input: rows, map: {add: {m: '8 // (8 - n)'}}}",
         records({"word": "string", "n": "long"}, [ESC, 7], [TURNED, 8]), stream="x")), FAILED, "operator x", r"\x1b[31mred"),
]  # fmt: skip
