"""Expressions: ways out of the language, results that grow, and what fails for one record."""

from __future__ import annotations

from tests.hostile.case import FAILED, REFUSED, Case
from tests.hostile.inputs import compiled, evaluated, records, run, scenario, steps

X = "x" * 1000
GROWN = "replace(word, 'x', word)"
"""A text of a million characters, of a word of a thousand."""
VALUE, RECORD = "--limit value_bytes=", "--limit record_bytes="
FIVE = "word + word + word + word + word"
ROWS, ALL_ROWS = "--limit flat_map_rows=", "--limit flat_map_bytes="


def exploded(each: str, keep: str = "[]", first: str = GROWN) -> str:
    """Two steps: a long text, and a flat_map of it."""
    lines = [
        f'  grown: {{input: rows, map: {{add: {{b: "{first}"}}}}}}',
        f'  parts: {{input: grown, flat_map: {{each: "{each}", keep: {keep}}}}}',
    ]
    return scenario("\n".join(lines), records({"word": "string"}, [X]), stream="parts")


def wide(columns: int, expression: str) -> str:
    """A record of many columns, after a step that makes a long text."""
    names = ", ".join(f'c{index}: "{expression}"' for index in range(columns))
    lines = [
        f'  grown: {{input: rows, map: {{add: {{b: "{GROWN}"}}}}}}',
        f"  wide: {{input: grown, map: {{select: {{{names}}}}}}}",
    ]
    return scenario("\n".join(lines), records({"word": "string"}, [X]), stream="wide")


def collected(columns: int, expression: str) -> str:
    """Aggregates of a window over a long text."""
    names = ", ".join(f'c{index}: "{expression}"' for index in range(columns))
    lines = [
        f'  grown: {{input: rows, map: {{add: {{b: "{GROWN}"}}}}}}',
        f"  wide: {{input: grown, key_by: word, window: {{count: 1}}, aggregate: {{{names}}}}}",
    ]
    return scenario("\n".join(lines), records({"word": "string"}, [X]), stream="wide")


CASES = [
    Case("attribute", compiled("word.__class__"), REFUSED, "s.yaml:6:", "attribute access"),
    Case("method", compiled("word.format(1)"), REFUSED, "s.yaml:6:", "attribute access"),
    Case("import", compiled("__import__('os')"), REFUSED, "s.yaml:6:", "unknown function"),
    Case("builtins", compiled("__builtins__"), REFUSED, "s.yaml:6:", "unknown name"),
    Case("guard by name", compiled("_bounded(n)"), REFUSED, "s.yaml:6:", "unknown function"),
    Case("compiled name", compiled("v"), REFUSED, "s.yaml:6:", "unknown name"),
    Case("walrus", compiled("str((y := n))"), REFUSED, "s.yaml:6:", "assignment"),
    Case("lambda", compiled("(lambda: 1)()"), REFUSED, "s.yaml:6:", "lambda"),
    Case("comprehension", compiled("str([y for y in (1, 2)])"), REFUSED, "s.yaml:6:", "comprehensions"),
    Case("generator", compiled("max(y for y in (1, 2))"), REFUSED, "s.yaml:6:", "generators"),
    Case("nested comprehensions", compiled("len([[y for y in word] for z in word])"), REFUSED, "s.yaml:6:", "comprehensions"),
    Case("format width", compiled("f'{n:>1000000000}'"), REFUSED, "s.yaml:6:", "no format"),
    Case("format by percent", compiled("'%1000000000d' % n"), REFUSED, "s.yaml:6:", "'%' cannot be used"),
    Case("repetition of a text", compiled("word * 1000000000"), REFUSED, "s.yaml:6:", "'*' cannot be used"),
    Case("power of literals", compiled("str(9 ** 9 ** 9)"), FAILED, "operator step0", "does not fit an int64"),
    Case("power", evaluated("str(n ** 99999999)"), FAILED, "operator step0", "does not fit an int64"),
    Case("shift", evaluated("str(n << 9999999999)"), FAILED, "operator step0", "shifts an integer by 0 to 63"),
    Case("round to many digits", evaluated("str(round(x, 999999999))"), FAILED, "operator step0", "20 digits"),
    Case("long literal", compiled("str(" + "9" * 1500 + ")"), REFUSED, "s.yaml:6:", "does not fit an int64"),
    Case("huge float literal", compiled("str(1e999)"), REFUSED, "s.yaml:6:", "too large for a double"),
    Case("deep brackets", compiled("(" * 400 + "1" + ")" * 400), REFUSED, "s.yaml:6:", "nested deeper than 50"),
    Case("many signs", compiled("str(" + "-" * 1900 + "1)"), REFUSED, "s.yaml:6:", "expression"),
    Case("many operands", compiled("str(" + "+".join("n" * 500) + ")"), REFUSED, "s.yaml:6:", "at most 60 nested levels"),
    Case("long source", compiled("'" + "a" * 5000 + "'"), REFUSED, "s.yaml:6:", "at most 2000 characters"),
    Case("look-alike letters", compiled("\uff57\uff4f\uff52\uff44"), REFUSED, "s.yaml:6:", "only look like"),
    Case("many parts", compiled(f"str([{','.join(['n'] * 500)}])"), REFUSED, "s.yaml:6:", "at most 400 parts"),
    Case("null character", compiled("'\0'"), REFUSED, "s.yaml:6:", "control characters"),
    Case("two lines", compiled("1\n+ 1"), REFUSED, "s.yaml:6:", "one line"),
    Case("star argument", compiled("max(*(1, 2))"), REFUSED, "s.yaml:6:", "'*' arguments"),
    Case("named argument", compiled("str(object=n)"), REFUSED, "s.yaml:6:", "no named arguments"),
    Case("byte literal", compiled("str(b'x')"), REFUSED, "s.yaml:6:", "bytes is not part"),
    Case("complex literal", compiled("str(1j)"), REFUSED, "s.yaml:6:", "complex is not part"),
    Case("ellipsis", compiled("str(...)"), REFUSED, "s.yaml:6:", "ellipsis is not part"),
    Case("slice", compiled("word[0:1]"), REFUSED, "s.yaml:6:", "use substring"),
    Case("await", compiled("await word"), REFUSED, "s.yaml:6:", "await"),
    Case("replace by the text itself", evaluated(GROWN, "replace(b, 'x', b)", word=X), FAILED, "operator step1", VALUE),
    Case("text of a long list", evaluated(GROWN, f"str([{','.join('b' * 390)}])", word=X), FAILED, "operator step1", VALUE),
    Case("f-string of a long text", evaluated(GROWN, "f'" + "{b}" * 390 + "'", word=X), FAILED, "operator step1", VALUE),
    Case("f-string in f-strings", evaluated(GROWN, "f\"{f'" + "{b}" * 15 + "'}\"", word=X), FAILED, "operator step1", VALUE),
    Case("sum of a long text", evaluated(GROWN, "+".join("b" * 50), word=X), FAILED, "operator step1", VALUE),
    Case("concat of long texts", evaluated(GROWN, f"concat({','.join(['b+b+b'] * 20)})", word=X), FAILED, "step1", VALUE),
    Case("concat in concat", evaluated(GROWN, "concat(concat(b,b),concat(b,b))", word=X), FAILED, "operator step1", VALUE),
    Case("upper case that is longer", evaluated(FIVE, "upper(b)", word="ΐ" * 20_000), FAILED, "operator step1", VALUE),
    Case("upper case three times", evaluated(f"upper({FIVE})", word="ΐ" * 20_000), FAILED, "operator step0", VALUE),
    Case("doubling step by step", evaluated(*["b + b"] * 12, word=X), FAILED, "operator step10", VALUE),
    Case("text of nested lists", evaluated("str(" + "[" * 40 + "word" + ",word]" * 40 + ")", "str([b, b, b])", GROWN,
         "replace(b, 'x', b)", word=X), FAILED, "operator step3", VALUE),
    Case("list of a long text", evaluated(GROWN, f"[{','.join('b' * 390)}]", word=X), FAILED, "operator step1", VALUE),
    Case("nested lists step by step", evaluated(*[f"[{','.join('b' * 30)}]"] * 8), FAILED, "operator step", VALUE),
    Case("deep lists step by step", evaluated(*["[" * 40 + "b" + "]" * 40] * 3), FAILED, "step2", "nested more than 100"),
    Case("deep lists without copies", run(steps(*["[" * 40 + "b" + "]" * 40] * 9, settings="object_reuse: true")), FAILED,
         "operator step2", "nested more than 100"),
    Case("sum of lists", evaluated("[n, n]", *["b + b + b + b + b + b + b + b"] * 8), FAILED, "operator step", VALUE),
    Case("split into characters", evaluated(GROWN, "split(b, 'x')", word=X), FAILED, "operator step1", VALUE),
    Case("split at blanks", evaluated("replace(word, ' ', word)", "split(replace(b, 'y', ' y'))", word=" y" * 500), FAILED,
         "operator step", VALUE),
    Case("max of a growing text", evaluated(GROWN, "max(b + b, word)", word=X), FAILED, "operator step1", VALUE),
    Case("choice of growing texts", evaluated(GROWN, "b + b if n else word", word=X), FAILED, "operator step1", VALUE),
    Case("hash of a growing number", evaluated("str(hash(n * 9223372036854775807))"), FAILED, "step0", "int64 has 64"),
    Case("number in a text", evaluated("f'{n * 9223372036854775807}'"), FAILED, "operator step0", "an int64 has 64"),
    Case("number as a text", evaluated("str(n * 9223372036854775807)"), FAILED, "operator step0", "an int64 has 64"),
    Case("growing product", evaluated("str(" + "*".join(["9223372036854775807"] * 50) + ")"), FAILED, "step0", "int64 has 64"),
    Case("wide record of a long text", run(lambda: wide(900, "b")), FAILED, "operator wide", RECORD),
    Case("wide record of new texts", run(lambda: wide(900, "lower(b)")), FAILED, "operator wide", RECORD),
    Case("wide window of a long text", run(lambda: collected(900, "last(lower(b))")), FAILED, "operator wide", RECORD),
    Case("too many columns", run(lambda: wide(1001, "b")), REFUSED, "s.yaml:7:", "at most 1000 entries"),
    Case("flat_map of many rows", run(lambda: exploded("split(b, 'y')", first="replace(word, 'x', 'xy')"), "--limit",
         "flat_map_rows=999"), FAILED, "operator parts", ROWS),
    Case("flat_map of large rows", run(lambda: exploded("split(word, 'x')", "[b]")), FAILED, "operator parts", ALL_ROWS),
    Case("flat_map of a text", run(lambda: exploded("[word][0]")), FAILED, "operator parts", "needs a tuple or list"),
    Case("flat_map that keeps a field twice", run(lambda: exploded("[word]", "[b, b]")), REFUSED, "s.yaml:7:", "listed twice"),
    Case("division by zero", evaluated("str(n // (n - 7))"), FAILED, "operator step0", "ZeroDivisionError"),
    Case("item that does not exist", evaluated("split(word, ',')[3]"), FAILED, "operator step0", "record ('ab'"),
    Case("letters as a number", evaluated("str(int(word))"), FAILED, "operator step0", "expected a whole number"),
    Case("root of a negative number", evaluated("str(sqrt(-x))"), FAILED, "operator step0", "record ('ab'"),
]  # fmt: skip
