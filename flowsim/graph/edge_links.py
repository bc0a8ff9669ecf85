"""The link of each edge."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.errors import BadInput
from flowsim.graph.job_graph import JobEdge, JobVertex
from flowsim.graph.job_settings import Link


class LinkError(BadInput):
    """A link that matches no edge. ``number``: its index in the settings; ``end``: from, to, or None for both."""

    def __init__(self, number: int, end: str | None, message: str) -> None:
        super().__init__(f"links[{number}]{'.' + end if end else ''}: {message}")
        self.number = number
        self.end = end
        self.reason = message


def links_of_edges(links: Sequence[Link], vertices: Sequence[JobVertex], edges: Sequence[JobEdge]) -> dict[int, Link]:
    """Finds, for each edge id, the first link whose ends are in the chains of the edge.

    Raises LinkError for a link without an edge.
    """
    names = [operator.node.name for vertex in vertices for operator in vertex.operators]
    for number, link in enumerate(links):
        for end, name in (("from", link.source), ("to", link.target)):
            if name is not None and name not in names:
                raise LinkError(number, end, f"there is no operator {name!r}; there are: {', '.join(names)}")
        if not any(_fits(link, edge) for edge in edges):
            raise LinkError(
                number,
                None,
                f"no edge goes from {link.source or 'any task'} to {link.target or 'any task'} over the "
                "network: name operators of two tasks that an edge connects (flowsim graph shows them)",
            )
    link_of: dict[int, Link] = {}
    for edge in edges:
        fitting = next((link for link in links if _fits(link, edge)), None)
        if fitting is not None and (fitting.latency_ns or fitting.bytes_per_second is not None):
            link_of[edge.id] = fitting
    return link_of


def _fits(link: Link, edge: JobEdge) -> bool:
    return _runs(link.source, edge.source) and _runs(link.target, edge.target)


def _runs(name: str | None, vertex: JobVertex) -> bool:
    return name is None or any(operator.node.name == name for operator in vertex.operators)
