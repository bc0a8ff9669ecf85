"""``cost`` of a source, operator or sink: the virtual time of one record, by subtask and by record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag, model_validator

from flowsim.datastream.data_stream import DataStream, DataStreamSink
from flowsim.errors import BadInput
from flowsim.graph.operator_cost import RecordCost
from flowsim.quantities import count_text
from flowsim.scenario.context import CompileContext
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.types import DurationNs, ExpressionSource, Strict, SubtaskRange
from flowsim.scenario.yaml.positions import Path
from flowsim.units import NS_PER_MS

_MAX_MS = 2**62 // NS_PER_MS
Each = ExpressionSource | list[ExpressionSource]


class RecordCostModel(Strict):
    """A cost that is computed from each record."""

    each: Each = Field(
        description="Virtual time in milliseconds of at least 0, computed from each record, as in [cost](#cost)."
    )


def _form(value: object) -> str:
    return "mapping" if isinstance(value, dict | RecordCostModel | CostModel) else "duration"


SubtaskCost = Annotated[
    Annotated[DurationNs, Tag("duration")] | Annotated[RecordCostModel, Tag("mapping")], Discriminator(_form)
]


class CostModel(Strict):
    """The virtual time of one record: of single subtasks, and of the others."""

    default: DurationNs | None = Field(
        default=None,
        description="Virtual time of one record in the other subtasks; without `default` and `each` the value of the "
        "settings.",
    )
    each: Each | None = Field(
        default=None,
        description="The same, computed from each record: milliseconds of at least 0, without `timestamp`. "
        "`connect`, `join`, `co_group`, `interval_join` and `broadcast` need a list with one expression for each "
        "input.",
    )
    subtasks: Annotated[dict[SubtaskRange, SubtaskCost], Field(min_length=1, max_length=1000)] | None = Field(
        default=None, description="The costs of single subtasks, by INDEX or FIRST-LAST; the first subtask is 0."
    )

    @model_validator(mode="after")
    def _consistent(self) -> CostModel:
        if self.default is None and self.each is None and self.subtasks is None:
            raise ValueError("expected default, each or subtasks")
        if self.default is not None and self.each is not None:
            raise ValueError("expected one of default and each")
        return self


# The form selects one of the two types, so that errors are reported only for that type.
Cost = Annotated[Annotated[DurationNs, Tag("duration")] | Annotated[CostModel, Tag("mapping")], Discriminator(_form)]


def set_cost(
    context: CompileContext,
    path: Path,
    stream: DataStream | DataStreamSink,
    model: int | CostModel | None,
    schemas: Sequence[RecordSchema],
    *,
    is_tagged: bool = False,
) -> None:
    """Sets the cost of the node at ``path``. Raises Failed.

    ``schemas``: those of its inputs, of a source that of its records. ``is_tagged``: both inputs are one, whose records
    are pairs of the number of their stream, from 1, and a record.
    """
    if model is None:
        return
    if isinstance(model, int):
        stream.cost(model)
        return
    at: Path = (*path, "cost")
    costs = _RecordCosts(context, schemas, is_tagged)
    default = model.default if model.each is None else costs.compile((*at, "each"), model.each)
    subtasks: dict[int, int | list[RecordCost]] = {}
    for key, cost in (model.subtasks or {}).items():
        subtask_path = (*at, "subtasks", key)
        value = cost if isinstance(cost, int) else costs.compile((*subtask_path, "each"), cost.each)
        for subtask in _range(context, subtask_path, key, stream.get_parallelism()):
            if subtask in subtasks:
                raise context.fail_at_key(subtask_path, f"subtask {subtask} has a cost already")
            subtasks[subtask] = value
    context.attempt(at, lambda: stream.cost(default, subtasks=subtasks))


def _range(context: CompileContext, path: Path, key: str, parallelism: int) -> range:
    """Returns the subtasks that a key names. Raises Failed."""
    first, _, last = key.partition("-")
    subtasks = range(int(first), int(last or first) + 1)
    if not subtasks:
        raise context.fail_at_key(path, f"expected FIRST-LAST with FIRST <= LAST, got {key}")
    if subtasks[-1] >= parallelism:
        known = "subtask 0" if parallelism == 1 else f"subtasks 0 to {parallelism - 1}"
        raise context.fail_at_key(
            path, f"there is no subtask {subtasks[-1]}: the parallelism is {parallelism}, with {known}"
        )
    return subtasks


class _RecordCosts:
    """Compiles the costs of one node that depend on its records."""

    def __init__(self, context: CompileContext, schemas: Sequence[RecordSchema], is_tagged: bool) -> None:
        self._context = context
        self._schemas = schemas
        self._is_tagged = is_tagged

    def compile(self, path: Path, each: str | list[str]) -> list[RecordCost]:
        """Returns one function per input of the operator. Raises Failed."""
        count = len(self._schemas)
        if not isinstance(each, str) and count == 1:
            raise self._context.fail(path, "expected one expression: there is one input")
        if count > 1 and (isinstance(each, str) or len(each) != count):
            raise self._context.fail(path, f"expected a list of {count_text(count, 'expression')}, one for each input")
        sources = [(path, each)] if isinstance(each, str) else [((*path, i), one) for i, one in enumerate(each)]
        costs: list[RecordCost] = [
            self._of_input(at, source, schema) for (at, source), schema in zip(sources, self._schemas, strict=True)
        ]
        return [CostOfTagged(costs)] if self._is_tagged else costs

    def _of_input(self, path: Path, source: str, schema: RecordSchema) -> RecordCost:
        ms = self._context.record_expression(path, source, schema, "a cost")
        if not (ms.type.is_numeric or ms.type is FieldType.ANY):
            raise self._context.fail(path, f"expected milliseconds as a number, got {ms.type.value}")
        return CostInMilliseconds(ms.function)


class CostInMilliseconds:
    """Returns the ns of a cost that an expression gives in ms."""

    __slots__ = ("_ms_of",)

    def __init__(self, ms_of: Callable[..., object]) -> None:
        self._ms_of = ms_of

    def __call__(self, value: Any) -> int:
        ms = self._ms_of(value)
        if isinstance(ms, int | float) and not isinstance(ms, bool) and 0 <= ms <= _MAX_MS:
            return round(ms * NS_PER_MS)
        raise BadInput(f"the cost of a record: expected milliseconds of at least 0, got {ms!r:.100}")


class CostOfTagged:
    """The cost of a record that has the number of its stream, from 1."""

    __slots__ = ("_costs",)

    def __init__(self, costs: Sequence[RecordCost]) -> None:
        self._costs = costs

    def __call__(self, tagged: Any) -> object:
        number, value = tagged
        return self._costs[number - 1](value)
