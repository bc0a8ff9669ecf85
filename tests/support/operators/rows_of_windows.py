"""A window function for tests that emits the contents as they are."""

from __future__ import annotations

from collections.abc import Iterable

from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.windowing.window_functions import WindowContext
from flowsim.operators.windowing.windows import Window


class Rows:
    """Records whether it is open, and the window that was cleared last."""

    cleared: Window

    def open(self, runtime_context: RuntimeContext) -> None:
        self.is_open = True

    def close(self) -> None:
        self.is_open = False

    def process(self, key: object, context: WindowContext, elements: Iterable[object]) -> list[object]:
        return [list(elements)]

    def clear(self, context: WindowContext) -> None:
        self.cleared = context.window()
