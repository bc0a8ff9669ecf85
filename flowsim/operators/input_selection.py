"""Selects the inputs that an operator reads next. Flink: InputSelection, InputSelectable (rules 7.22, 7.24)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Protocol, runtime_checkable

from flowsim.errors import BadInput

NONE_AVAILABLE: Final = -1
"""The index that means: no selected input has data."""

MAX_SUPPORTED_INPUT_COUNT: Final = 63
"""The largest number of inputs: the bits of a Java long without its sign (rule 7.24)."""


@dataclass(frozen=True, slots=True)
class InputSelection:
    """A set of inputs; input ids count from 1, as in Flink. Flink: InputSelection.

    >>> InputSelection.of(1, 3).input_mask
    5
    """

    input_mask: int
    """Bit ``i`` selects input id ``i + 1``; -1, with every bit set, selects all."""

    ALL: ClassVar[InputSelection]
    FIRST: ClassVar[InputSelection]
    SECOND: ClassVar[InputSelection]

    @staticmethod
    def of(*input_ids: int) -> InputSelection:
        """Selects these inputs. Raises BadInput for an id outside 1 to 63."""
        mask = 0
        for input_id in input_ids:
            if type(input_id) is not int or not 1 <= input_id <= MAX_SUPPORTED_INPUT_COUNT:
                raise BadInput(f"expected the id of an input, from 1 to {MAX_SUPPORTED_INPUT_COUNT}, got {input_id!r}")
            mask |= 1 << (input_id - 1)
        return InputSelection(mask)

    def is_input_selected(self, input_id: int) -> bool:
        return bool(self.input_mask >> (input_id - 1) & 1)

    @staticmethod
    def fair_select_next_index(selected_mask: int, available_mask: int, last_read_index: int) -> int:
        """Returns the next selected and available input after the last read one, cyclically; or NONE_AVAILABLE."""
        candidates = selected_mask & available_mask
        if not candidates:
            return NONE_AVAILABLE
        after = candidates >> (last_read_index + 1) << (last_read_index + 1)
        lowest = after or candidates
        return (lowest & -lowest).bit_length() - 1


InputSelection.ALL = InputSelection(-1)
InputSelection.FIRST = InputSelection(1)
InputSelection.SECOND = InputSelection(2)


@runtime_checkable
class InputSelectable(Protocol):
    """An operator that selects the inputs to read next; all other operators read all inputs. Flink: InputSelectable."""

    def next_selection(self) -> InputSelection:
        """Returns the next selection.

        Called once before the first element, then after every element and every other status of an input (rule 7.24).
        """
