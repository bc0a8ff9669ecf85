"""Numbers: beyond their types, infinite, in the wrong order, or not written as numbers."""

from __future__ import annotations

from tests.hostile.case import FAILED, REFUSED, Case, Make
from tests.hostile.inputs import check, compiled, evaluated, records, run, scenario

MOST = 2**63 - 1
INT64 = "fit"


def generated(field: str, count: int = 3) -> Make:
    """Records of one generated field."""
    return run(scenario(source=f"generator: {{count: {count}, fields: {{n: {field}}}}}"))


def rows(kind: str, cell: str) -> Make:
    """A record of one cell, as it is written in YAML."""
    return run(scenario(source=f"collection: {{fields: {{n: {kind}}}, rows: [[{cell}]]}}"))


def setting(text: str) -> Make:
    """A setting of the job."""
    return check(scenario(settings=text))


def stamped(timestamp: str, more: str = "") -> Make:
    """Event time of a record whose field n is 7."""
    source = records({"n": "long"}, [7]) + f", watermarks: {{timestamp: {timestamp}{more}}}"
    return run(
        scenario("  w: {input: rows, key_by: n, window: {tumbling: 1 s}, aggregate: {c: count()}}", source, stream="w")
    )


CASES = [
    Case("reversed doubles", generated("{uniform: {low: 5.0, high: 1.0}}"), REFUSED, "s.yaml:4:", "low <= high"),
    Case("reversed integers", generated("{uniform: {low: 5, high: 1}}"), REFUSED, "s.yaml:4:", "low <= high"),
    Case("range beyond a double", generated("{uniform: {low: -1.7e308, high: 1.7e308}}"), REFUSED, "s.yaml:4:", "high - low"),
    Case("normal beyond a double", generated("{normal: {mean: 1.7e308, standard_deviation: 1.7e308}}"), REFUSED, "s.yaml:4:", "double"),
    Case("negative deviation", generated("{normal: {mean: 1.0, standard_deviation: -1.0}}"), REFUSED, "s.yaml:4:", "a value >= 0"),
    Case("weights that overflow", generated("{choice: {values: [1, 2], weights: [1.7e308, 1.7e308]}}"), REFUSED, "s.yaml:4:", "sum"),
    Case("weights of 0", generated("{choice: {values: [1, 2], weights: [0.0, 0.0]}}"), REFUSED, "s.yaml:4:", "not all of them 0"),
    Case("negative weight", generated("{choice: {values: [1, 2], weights: [-1.0, 2.0]}}"), REFUSED, "s.yaml:4:", "a value >= 0"),
    Case("too few weights", generated("{choice: {values: [1, 2], weights: [1.0]}}"), REFUSED, "s.yaml:4:", "expected 2 weights"),
    Case("choice of nothing", generated("{choice: {values: []}}"), REFUSED, "s.yaml:4:", "at least 1 entry"),
    Case("choice of two types", generated("{choice: {values: [1, a]}}"), REFUSED, "s.yaml:4:", "expected"),
    Case("sequence beyond a long", generated(f"{{sequence: {{start: {MOST}}}}}"), REFUSED, "s.yaml:4:", "record 1"),
    Case("steps beyond a long", generated(f"{{sequence: {{step: {MOST}}}}}"), REFUSED, "s.yaml:4:", "record 2"),
    Case("steps below a long", generated(f"{{sequence: {{step: -{MOST}}}}}"), REFUSED, "s.yaml:4:", "record 2"),
    Case("endless sequence beyond a long", run(scenario(settings="until: 1 s",
         source=f"generator: {{pace: 1 ms, fields: {{n: {{sequence: {{start: {MOST}}}}}}}}}")), FAILED, "Source: rows", "64 bits"),
    Case("event time beyond a long", generated(f"{{event_time: {{start: {MOST}}}}}"), REFUSED, "s.yaml:4:", "record 1"),
    Case("jitter below a long", generated(f"{{event_time: {{start: -{MOST}, jitter: 1 h}}}}"), REFUSED, "s.yaml:4:", "record 0"),
    Case("modulo of 0", generated("{sequence: {modulo: 0}}"), REFUSED, "s.yaml:4:", "a value >= 1"),
    Case("count of 0", generated("{sequence: {}}", 0), REFUSED, "s.yaml:4:", "a value >= 1"),
    Case("count beyond the limit", generated("{sequence: {}}", 10**13), REFUSED, "s.yaml:4:", "a value <= 1000000000000"),
    Case("long beyond 64 bits", rows("long", str(MOST + 1)), REFUSED, "s.yaml:4:", "does not fit an int64"),
    Case("int beyond 32 bits", rows("int", str(2**31)), REFUSED, "s.yaml:4:", "expected an int"),
    Case("long with many digits", rows("long", "9" * 5000), REFUSED, "s.yaml:4:", "does not fit an int64"),
    Case("double beyond 1.8e308", rows("double", "1e309"), REFUSED, "s.yaml:4:", "does not fit a double"),
    Case("double with many digits", rows("double", "1" * 5000 + ".0"), REFUSED, "s.yaml:4:", "does not fit"),
    Case("infinity", rows("double", ".inf"), REFUSED, "s.yaml:4:", "expected a decimal number"),
    Case("not a number", rows("double", ".nan"), REFUSED, "s.yaml:4:", "expected a decimal number"),
    Case("hexadecimal", rows("long", "0x10"), REFUSED, "s.yaml:4:", "expected a decimal number"),
    Case("octal", rows("long", "0o17"), REFUSED, "s.yaml:4:", "expected a decimal number"),
    Case("underscores", rows("long", "1_000"), REFUSED, "s.yaml:4:", "expected a decimal number"),
    Case("other digits", rows("long", "\u0663"), REFUSED, "s.yaml:4:", "expected a long"),
    Case("boolean as a long", rows("long", "true"), REFUSED, "s.yaml:4:", "expected a long"),
    Case("text as a double", rows("double", "'1.5'"), REFUSED, "s.yaml:4:", "expected a double"),
    Case("other digits as an int", evaluated("str(int('\u0663'))"), FAILED, "operator step0", "digits 0 to 9"),
    Case("underscores as an int", evaluated("str(int('1_000'))"), FAILED, "operator step0", "digits 0 to 9"),
    Case("many digits as an int", evaluated("str(int('" + "9" * 30 + "'))"), FAILED, "operator step0", "int64 has 64"),
    Case("long text as an int", evaluated("str(int(word))", word="9" * 5000), FAILED, "operator step0", "more than 40 characters"),
    Case("other digits as a float", evaluated("str(float('\u0661.\u0665'))"), FAILED, "operator step0", "expected a number"),
    Case("underscores as a float", evaluated("str(float('1_0.5'))"), FAILED, "operator step0", "expected a number"),
    Case("infinity as an int", evaluated("str(int(1e308 * 10))"), FAILED, "operator step0", "expected a whole number"),
    Case("nan as an int", evaluated("str(int(float('nan')))"), FAILED, "operator step0", "expected a whole number"),
    Case("sum beyond a long", evaluated(f"str(n + {MOST})"), FAILED, "operator step0", "int64 has 64"),
    Case("product beyond a long", evaluated(f"str(n * {MOST})"), FAILED, "operator step0", "int64 has 64"),
    Case("item beyond a long", evaluated(f"(n * {MOST}, 1)[0]"), FAILED, "operator step0", "int64 has 64"),
    Case("item of a list beyond a long", evaluated("[1, n << 63][1]"), FAILED, "operator step0", "int64 has 64"),
    Case("maximum beyond a long", evaluated(f"max(n * {MOST}, 1)"), FAILED, "operator step0", "int64 has 64"),
    Case("negated least long", evaluated("str(-(n - 7 - 9223372036854775807 - 1))"), FAILED, "operator step0", "int64 has 64"),
    Case("whole number beyond a double", evaluated("str(float(n) ** 9999)"), FAILED, "operator step0", "record ('ab'"),
    Case("root beyond the reals", evaluated("str((-n) ** 0.5)"), FAILED, "operator step0", "not a real number"),
    Case("rounded beyond a long", evaluated("str(round(x * 1e300))"), FAILED, "operator step0", "int64 has 64"),
    Case("literal beyond a long", compiled(f"str({MOST + 1})"), REFUSED, "s.yaml:6:", "does not fit an int64"),
    Case("timestamp beyond a long", stamped(f"n * {MOST}"), FAILED, "Source: rows", "int64 has 64"),
    Case("timestamp that is a text", stamped("str(n)"), REFUSED, "s.yaml:4:", "milliseconds as an integer"),
    Case("parallelism of 0", setting("parallelism: 0"), REFUSED, "s.yaml:3:", "a value >= 1"),
    Case("parallelism of a text", setting("parallelism: '2'"), REFUSED, "s.yaml:3:", "expected an integer"),
    Case("parallelism of a fraction", setting("parallelism: 1.5"), REFUSED, "s.yaml:3:", "expected an integer"),
    Case("negative duration", setting("until: -1 s"), REFUSED, "s.yaml:3:", "expected"),
    Case("long duration", setting("until: 999999999999999999 d"), REFUSED, "s.yaml:3:", "at most 146 years"),
    Case("duration with many digits", setting("until: " + "9" * 5000 + " d"), REFUSED, "s.yaml:3:", "does not fit"),
    Case("duration without a unit", setting("until: 5"), REFUSED, "s.yaml:3:", "such as '100 ms'"),
    Case("duration of other digits", setting("until: \u0663 s"), REFUSED, "s.yaml:3:", "expected a duration"),
    Case("fraction of a millisecond", setting("buffer_timeout: 1 us"), REFUSED, "s.yaml:3:", "whole milliseconds"),
    Case("size of other digits", setting("segment_size: \u0663 KiB"), REFUSED, "s.yaml:3:", "such as '32 KiB'"),
    Case("small segment", setting("segment_size: 1"), REFUSED, "s.yaml:3:", "a value >= 64"),
    Case("large segment", setting("segment_size: 999999999999 MiB"), REFUSED, "s.yaml:3:", "a value <= 67108864"),
    Case("seed beyond a long", setting(f"seed: {MOST + 1}"), REFUSED, "s.yaml:3:", "does not fit an int64"),
    Case("negative seed", setting("seed: -1"), REFUSED, "s.yaml:3:", "a value >= 0"),
    Case("seed on the command line", check(scenario(), "--set", "settings.seed=" + "9" * 400), REFUSED, "--set settings.seed", "int64"),
    Case("subtask of other digits", check(scenario() + "faults: [{fault: drop_element, operator: rows, subtask: \u0663, at: 1}]"),
         REFUSED, "s.yaml:6:", "expected an integer"),
    Case("until of other digits", run(scenario(), "--until", "\u0663s"), REFUSED, "--until", "duration"),
    Case("until with many digits", run(scenario(), "--until", "9" * 5000 + "s"), REFUSED, "--until", "duration"),
    Case("values of other digits", run(scenario(), "--record-values", "\u0663"), REFUSED, "--record-values", "size"),
    Case("values with many digits", run(scenario(), "--record-values", "9" * 5000), REFUSED, "--record-values", "size"),
    Case("seed option beyond a long", run(scenario(), "--seed", str(MOST + 1)), REFUSED, "--seed", "less than or equal to"),
]  # fmt: skip
