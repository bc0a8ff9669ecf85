"""The functions that process the contents of a window that fires. Flink: InternalWindowFunction and its kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeVar

from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.stream_operator import Value
from flowsim.operators.user_functions import Results, UserFunction
from flowsim.operators.windowing.windows import Window
from flowsim.state.keyed_state import KeyedStateStore


class WindowContext(Protocol):
    """The context of a window function. Flink: ProcessWindowFunction.Context."""

    def window(self) -> Window: ...

    def current_processing_time(self) -> int:
        """Returns the processing time in ms."""

    def current_watermark(self) -> int:
        """Returns the watermark in ms; ``NO_TIMESTAMP`` before the first watermark."""

    def window_state(self) -> KeyedStateStore:
        """Returns the state of this key and window; the function's ``clear`` must clear it."""

    def global_state(self) -> KeyedStateStore:
        """Returns the state of this key that all its windows share."""


class ProcessWindowFunction(UserFunction, Protocol):
    """A user function of a window with its context. Flink: ProcessWindowFunction."""

    def process(self, key: Value, context: WindowContext, elements: Iterable[Value]) -> Results: ...

    def clear(self, context: WindowContext) -> None:
        """Called when the window is cleaned up; must clear the state of the window."""


class WindowFunction(UserFunction, Protocol):
    """A user function of key, window and contents. Flink: WindowFunction."""

    def apply(self, key: Value, window: Window, inputs: Iterable[Value]) -> Results: ...


class ProcessAllWindowFunction(UserFunction, Protocol):
    """A user function of a window of an unkeyed stream with its context. Flink: ProcessAllWindowFunction."""

    def process(self, context: WindowContext, elements: Iterable[Value]) -> Results: ...

    def clear(self, context: WindowContext) -> None:
        """Called when the window is cleaned up; must clear the state of the window."""


class AllWindowFunction(UserFunction, Protocol):
    """A user function for the windows of an unkeyed stream: gets window and contents. Flink: AllWindowFunction."""

    def apply(self, window: Window, inputs: Iterable[Value]) -> Results: ...


class InternalWindowFunction(UserFunction, Protocol):
    """The common interface through which the operator calls all window functions. Flink: InternalWindowFunction."""

    def process(self, key: Value, context: WindowContext, contents: object) -> Results: ...

    def clear(self, context: WindowContext) -> None: ...


class PassThroughWindowFunction:
    """Emits the folded value of the window. Flink: PassThroughWindowFunction."""

    __slots__ = ()

    def open(self, runtime_context: RuntimeContext) -> None:
        """Does nothing."""

    def close(self) -> None:
        """Does nothing."""

    def process(self, key: Value, context: WindowContext, contents: object) -> Results:
        return (contents,)

    def clear(self, context: WindowContext) -> None:
        """Does nothing: there is no state."""


F = TypeVar("F", bound=UserFunction)


class _Calling(Generic[F]):
    """Calls a user function.

    With ``single_value``, the contents are one folded value, which the function gets as an iterable of one element.
    """

    __slots__ = ("_function", "_single_value")

    def __init__(self, function: F, single_value: bool = False) -> None:
        self._function = function
        self._single_value = single_value

    def open(self, runtime_context: RuntimeContext) -> None:
        self._function.open(runtime_context)

    def close(self) -> None:
        self._function.close()

    def _iterable(self, contents: object) -> Iterable[Value]:
        if self._single_value:
            return [contents]
        assert isinstance(contents, list)
        return contents


class InternalProcessWindowFunction(_Calling[ProcessWindowFunction]):
    """Calls a ProcessWindowFunction. Flink: InternalIterable-, InternalSingleValueProcessWindowFunction."""

    __slots__ = ()

    def __init__(self, function: ProcessWindowFunction, single_value: bool = False) -> None:
        super().__init__(function, single_value)

    def process(self, key: Value, context: WindowContext, contents: object) -> Results:
        return self._function.process(key, context, self._iterable(contents))

    def clear(self, context: WindowContext) -> None:
        self._function.clear(context)


class InternalApplyWindowFunction(_Calling[WindowFunction]):
    """Calls a WindowFunction. Flink: InternalIterableWindowFunction, InternalSingleValueWindowFunction."""

    __slots__ = ()

    def __init__(self, function: WindowFunction, single_value: bool = False) -> None:
        super().__init__(function, single_value)

    def process(self, key: Value, context: WindowContext, contents: object) -> Results:
        return self._function.apply(key, context.window(), self._iterable(contents))

    def clear(self, context: WindowContext) -> None:
        """Does nothing: a WindowFunction has no state per window."""


class FoldingWindowFunction:
    """Folds all contents, then calls a function with the result; an evictor prevents an earlier folding.

    Flink: ReduceApplyWindowFunction, AggregateApplyWindowFunction and their kinds.
    """

    __slots__ = ("_fold", "_function")

    def __init__(self, fold: Callable[[list[Value]], Value], function: InternalWindowFunction) -> None:
        self._fold = fold
        self._function = function

    def open(self, runtime_context: RuntimeContext) -> None:
        self._function.open(runtime_context)

    def close(self) -> None:
        self._function.close()

    def process(self, key: Value, context: WindowContext, contents: object) -> Results:
        assert isinstance(contents, list)
        return self._function.process(key, context, self._fold(contents))

    def clear(self, context: WindowContext) -> None:
        self._function.clear(context)


class InternalProcessAllWindowFunction(_Calling[ProcessAllWindowFunction]):
    """Calls a ProcessAllWindowFunction.

    Flink: InternalIterableProcessAllWindowFunction, InternalSingleValueProcessAllWindowFunction.
    """

    __slots__ = ()

    def __init__(self, function: ProcessAllWindowFunction, single_value: bool = False) -> None:
        super().__init__(function, single_value)

    def process(self, key: Value, context: WindowContext, contents: object) -> Results:
        return self._function.process(context, self._iterable(contents))

    def clear(self, context: WindowContext) -> None:
        self._function.clear(context)


class InternalApplyAllWindowFunction(_Calling[AllWindowFunction]):
    """Calls an AllWindowFunction. Flink: InternalIterableAllWindowFunction, InternalSingleValueAllWindowFunction."""

    __slots__ = ()

    def __init__(self, function: AllWindowFunction, single_value: bool = False) -> None:
        super().__init__(function, single_value)

    def process(self, key: Value, context: WindowContext, contents: object) -> Results:
        return self._function.apply(context.window(), self._iterable(contents))

    def clear(self, context: WindowContext) -> None:
        """Does nothing: an AllWindowFunction has no state per window."""
