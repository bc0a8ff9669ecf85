"""Python's expressions that are not part of the language of scenarios: messages that say what to write instead."""

from __future__ import annotations

import ast
from typing import Final

from flowsim.errors import did_you_mean
from flowsim.scenario.language.functions import FUNCTIONS
from flowsim.scenario.language.record_schema import RecordSchema

REFUSED: Final[dict[type[ast.AST], str]] = {
    ast.Lambda: "lambda is not part of the language",
    ast.NamedExpr: "assignment (':=') is not part of the language",
    ast.ListComp: "comprehensions are not part of the language",
    ast.SetComp: "comprehensions are not part of the language",
    ast.DictComp: "comprehensions are not part of the language",
    ast.GeneratorExp: "generators are not part of the language",
    ast.Await: "await is not part of the language",
    ast.Yield: "yield is not part of the language",
    ast.YieldFrom: "yield is not part of the language",
    ast.Starred: "'*' arguments are not part of the language",
    ast.Slice: "slices are not part of the language, use substring(text, start, end)",
    ast.Dict: "dict displays are not part of the language",
    ast.Set: "set displays are not part of the language",
}


def attribute_refused(node: ast.Attribute, schema: RecordSchema, called: bool = False) -> str:
    """Returns the message for ``value.name``, with what to write instead."""
    refused, name = "attribute access ('.') is not part of the language", node.attr
    # The text of another value could be as long and as deep as the source.
    whole = node.value.id if isinstance(node.value, ast.Name) else "VALUE"
    if called:
        return f"{refused}: write {name}({whole})" if name in FUNCTIONS else f"{refused}, and values have no methods"
    if name.startswith("__"):
        return refused
    if whole in ("left", "right", "value") and whole not in schema.names and schema.names:
        if name in schema.names:
            return f"{refused}: this expression reads one record, whose fields have their names alone: write {name}"
        return f"{refused}, and the record has no field {name!r}{did_you_mean(name, schema.names)}"
    return f"{refused}: write {whole}[{name!r}] for an item of a value"
