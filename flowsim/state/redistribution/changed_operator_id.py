"""Explains why no operator of a job has the id of an operator of a snapshot (rule 12.121)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from flowsim.state.redistribution.operator_id import IdentifiedOperator

Operators = Sequence[IdentifiedOperator]
"""All operators of a job, in the order in which they get their ids."""


def why_id_changed(operator: IdentifiedOperator, old: Operators, new: Operators) -> str:
    """Returns the first difference that gives the operator another id in the new job; '' if it is unknown.

    Operators of one name are the same ones if both jobs have as many of them.
    """
    before, same = ([each for each in job if each.name == operator.name] for job in (old, new))
    if len(before) != len(same):
        return ""
    after = same[before.index(operator)]
    if after.uid != operator.uid:
        return f"{operator.name!r} had {_uid(operator)}, and now has {_uid(after)}"
    return "" if operator.uid is not None else _cause(operator, after, old, new)


def _uid(operator: IdentifiedOperator) -> str:
    return "no uid" if operator.uid is None else f"uid {operator.uid!r}"


def _cause(before: IdentifiedOperator, after: IdentifiedOperator, old: Operators, new: Operators) -> str:
    """Follows different ids of inputs to the operator where the difference begins."""
    old_ids, new_ids = ({each.operator_id: each for each in job} for job in (old, new))
    for old_id, new_id in zip(before.inputs, after.inputs, strict=False):
        if old_id != new_id:
            old_input, new_input = old_ids.get(old_id), new_ids[new_id]
            if old_input is None:
                return ""
            if old_input.uid is not None or new_input.uid is not None or old_input.name != new_input.name:
                was, now = (f"{each.name!r} with {_uid(each)}" for each in (old_input, new_input))
                return f"{before.name!r} read {was}, and now reads {now}"
            return _cause(old_input, new_input, old, new)
    if len(before.inputs) != len(after.inputs):
        return f"{before.name!r} had {len(before.inputs)} inputs, and now has {len(after.inputs)}"
    if len(before.chained_outputs) != len(after.chained_outputs):
        return _chaining(before, after, _by_name(old), _by_name(new))
    return _position(before, old[: old.index(before)], new[: new.index(after)])


def _chaining(
    before: IdentifiedOperator,
    after: IdentifiedOperator,
    old: Mapping[str, IdentifiedOperator],
    new: Mapping[str, IdentifiedOperator],
) -> str:
    lost = [name for name in before.chained_outputs if name not in after.chained_outputs]
    gained = [name for name in after.chained_outputs if name not in before.chained_outputs]
    if len(before.chained_outputs) > len(after.chained_outputs):
        found = f"{', '.join(map(repr, lost))} was chained to {before.name!r}, and now is not"
    else:
        found = f"{', '.join(map(repr, gained))} was not chained to {before.name!r}, and now is"
    changed = [
        f"the parallelism of {name!r} was {old[name].parallelism}, and now is {new[name].parallelism}"
        for name in (before.name, *lost, *gained)
        if name in old and name in new and 0 < old[name].parallelism != new[name].parallelism
    ]
    return found + "".join(f": {each}" for each in changed[:1])


def _position(operator: IdentifiedOperator, old: Operators, new: Operators) -> str:
    """``old`` and ``new``: the operators that have their ids before this one."""
    names = {each.name for each in old}, {each.name for each in new}
    added = [each.name for each in new if each.name not in names[0]]
    removed = [each.name for each in old if each.name not in names[1]]
    for what, found in (("added", added), ("removed", removed)):
        if found:
            return f"{', '.join(map(repr, found))} was {what} before {operator.name!r}"
    return f"{len(old)} operators came before {operator.name!r}, and now {len(new)}"


def _by_name(operators: Operators) -> dict[str, IdentifiedOperator]:
    """Returns the operators whose name no other one has."""
    names = Counter(each.name for each in operators)
    return {each.name: each for each in operators if names[each.name] == 1}
