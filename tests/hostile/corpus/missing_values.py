"""Missing values: timestamps, keys and fields that are null, in every kind of operator."""

from __future__ import annotations

from tests.hostile.case import FAILED, REFUSED, Case, Make
from tests.hostile.inputs import run, scenario

ROWS = "k,t,v,w\na,1000,1,x\nb,,2,y\nc,3000,,z\n,4000,4,\n"
COLUMNS = "{k: string, t: long, v: long, w: string}"
EVENT_TIME = "watermarks: {timestamp: t, missing_timestamp: drop}"
REMEDY = "add missing_timestamp: drop"


def rows(*operators: str, watermarks: str = "", source: str = "", stream: str = "", rows: str = ROWS) -> Make:
    """``flowsim run`` of operators over a csv file with missing values; without ``stream`` the sink reads the last one."""
    read = source or f"csv: {{path: in.csv, columns: {COLUMNS}}}"
    lines = [f"  op{number}: {{{operator}}}" for number, operator in enumerate(operators)]
    last = stream or (f"op{len(operators) - 1}" if operators else "rows")
    source = f"{read}, {watermarks}" if watermarks else read
    return run(scenario("\n".join(lines), source, stream=last), files={"in.csv": rows, "in.jsonl": JSON})


JSON = '{"k": "a", "t": 1, "v": 1}\n\n{"k": null, "v": 2}\n'
OBJECTS = "jsonl: {path: in.jsonl, fields: {k: string, t: long, v: long}}"
INLINE = "collection: {fields: {k: string, t: long, v: long}, rows: [[a, 1, 1], [null, null, null]]}"


def timestamp(expression: str, *, more: str = "", source: str = "") -> Make:
    return rows(watermarks=f'watermarks: {{timestamp: "{expression}"{more}}}', source=source)


CASES = [
    Case("timestamp", timestamp("t"), FAILED, "operator Source: rows", "from in.csv:3", "field 't' is null", REMEDY),
    Case("timestamp in an expression", timestamp("t * 1000 + 5"), FAILED, "from in.csv:3", "field 't' is null", REMEDY),
    Case("timestamp of two fields", timestamp("t + v"), FAILED, "from in.csv:3", "field 't' is null", REMEDY),
    Case("timestamp in a function", timestamp("max(t, 5)"), FAILED, "from in.csv:3", "field 't' is null", REMEDY),
    Case("timestamp of an index", timestamp("value[1]"), FAILED, "from in.csv:3", "has no timestamp", REMEDY),
    Case("timestamp that chooses null", timestamp("None if v is None else t"), FAILED, "from in.csv:3", "field 't' is null", REMEDY),
    Case("timestamp of text", timestamp("int(w)"), FAILED, "from in.csv:2", "int() of 'x'"),
    Case("timestamp of empty text", rows(watermarks="watermarks: {timestamp: int(w)}", rows="k,t,v,w\na,1,1,\n"), FAILED, "from in.csv:2", "int() of ''"),
    Case("timestamp with periodic watermarks", timestamp("t", more=", max_out_of_orderness: 1 s"), FAILED, "from in.csv:3", REMEDY),
    Case("timestamp without watermarks", timestamp("t", more=", emit: never"), FAILED, "from in.csv:3", REMEDY),
    Case("timestamp that must not be missing", timestamp("t", more=", missing_timestamp: fail"), FAILED, "from in.csv:3", REMEDY),
    Case("timestamp of jsonl", timestamp("t", source=OBJECTS), FAILED, "from in.jsonl:3", "field 't' is null", REMEDY),
    Case("timestamp of a collection", timestamp("t", source=INLINE), FAILED, "record (None, None, None)", "field 't' is null", REMEDY),
    Case("timestamp behind a quoted line", rows(watermarks="watermarks: {timestamp: t}", rows='k,t,v,w\n"a\nb",1,1,x\n\nc,,2,y\n'), FAILED, "from in.csv:5", REMEDY),
    Case("timestamp in an operator", rows("input: rows, watermarks: {timestamp: t}"), FAILED, "operator op0", "from in.csv:3", REMEDY),
    Case("timestamp behind the network", rows("input: rows, partition: rebalance, parallelism: 2, watermarks: {timestamp: t}"), FAILED, "operator op0", "record ('b', None, 2, 'y')", "field 't' is null", REMEDY),
    Case("timestamp with groups", rows(source=f"parallelism: 2, csv: {{path: in.csv, columns: {COLUMNS}, split_by: w, groups: [[x, z], [y, '']]}}", watermarks="watermarks: {timestamp: t}"), FAILED, "from in.csv:3", REMEDY),
    Case("timestamp of a legacy source", rows(source=f"legacy: true, csv: {{path: in.csv, columns: {COLUMNS}}}", watermarks="watermarks: {timestamp: t}"), FAILED, "record ('b', None, 2, 'y')", "field 't' is null", REMEDY),
    Case("key", rows("input: rows, key_by: v, sum: t"), FAILED, "from in.csv:4", "it is the key of op0, whose field 'v' is null", "drop the record"),
    Case("key with its type unknown", rows("input: rows, key_by: 'value[2]', sum: t"), FAILED, "from in.csv:4", "it is the key of op0", "drop the record"),
    Case("key at parallelism 2", rows("input: rows, parallelism: 2, key_by: v, sum: t"), FAILED, "from in.csv:4", "it is the key of op0, whose field 'v' is null"),
    Case("key in an expression", rows("input: rows, key_by: v % 2, sum: t"), FAILED, "from in.csv:4", "field 'v' is null"),
    Case("key of jsonl", rows("input: rows, key_by: k, sum: v", source=OBJECTS), FAILED, "from in.jsonl:3", "it is the key of op0, whose field 'k' is null"),
    Case("key behind a map", rows("input: rows, map: {add: {x: v}}", "input: op0, key_by: x, sum: t"), FAILED, "from in.csv:4", "it is the key of op1, whose field 'x' is null"),
    Case("key of a window", rows("input: rows, key_by: v, window: {tumbling: 1 s}, aggregate: {n: count()}", watermarks=EVENT_TIME), FAILED, "from in.csv:4", "it is the key of op0"),
    Case("key of a join", rows("input: rows, interval_join: {to: rows, key_by: [v, v], lower: 0, upper: 1 s, select: {x: left.t}}", watermarks=EVENT_TIME), FAILED, "from in.csv:4", "it is the key of op0"),
    Case("map", rows("input: rows, map: {add: {x: v + 1}}"), FAILED, "operator op0", "from in.csv:4", "field 'v' is null"),
    Case("map of two columns", rows("input: rows, map: {add: {x: t + 1, y: v + 1}}"), FAILED, "operator op0", "from in.csv:3", "field 't' is null"),
    Case("filter", rows("input: rows, filter: v > 1"), FAILED, "operator op0", "from in.csv:4", "field 'v' is null"),
    Case("sum", rows("input: rows, key_by: k, sum: v", rows="k,t,v,w\na,1,1,x\na,2,,y\n"), FAILED, "operator op0", "record ('a', 2, None, 'y')"),
    Case("punctuated watermark", timestamp("t", more=', missing_timestamp: drop, punctuated: "v > 1"'), FAILED, "from in.csv:4", "field 'v' is null"),
    Case("policy that does not exist", timestamp("t", more=", missing_timestamp: ignore"), REFUSED, "s.yaml:4:", "missing_timestamp"),
    Case("output without a name", timestamp("t", more=", missing_timestamp: {output: ''}"), REFUSED, "s.yaml:4:", "missing_timestamp"),
    Case("output with another key", timestamp("t", more=", missing_timestamp: {outputs: bad}"), REFUSED, "s.yaml:4:", "missing_timestamp"),
    Case("output that nothing declares", rows("input: rows.bad, filter: 'True'", watermarks=EVENT_TIME), REFUSED, "s.yaml:6:", "there is no stream 'rows.bad' above"),
    Case("window over records without a timestamp", rows("input: rows.bad, key_by: k, window: {tumbling: 1 s}, aggregate: {n: count()}", watermarks="watermarks: {timestamp: t, missing_timestamp: {output: bad}}"), REFUSED, "s.yaml:6:", "needs timestamps", "add watermarks: {timestamp: ...} after it"),
]  # fmt: skip
