"""Where an exhaustive search is, so that another process can continue it."""

from __future__ import annotations

from msgspec.msgpack import decode, encode

from flowsim.explore.exhaustive import ExhaustiveSearch, Node

_State = tuple[int, int, bool, list[Node]]


def searched_state(search: ExhaustiveSearch) -> bytes:
    """Returns the state of a search between two runs."""
    return encode((search.runs, search.blocked, search.is_finished, search._path))


def searching(state: bytes) -> ExhaustiveSearch:
    """Returns a search that continues there; without a state, one that begins."""
    search = ExhaustiveSearch()
    if state:
        search.runs, search.blocked, search.is_finished, search._path = decode(state, type=_State)
    return search
