"""Table ``choices``: what an explored run chose, which its token repeats."""

from __future__ import annotations

from typing import get_args

import pytest

from flowsim.datastream import StreamExecutionEnvironment
from flowsim.explore.explored_job import ExploredJob
from flowsim.explore.job_digest import job_digest
from flowsim.explore.job_exploration import explore_job
from flowsim.explore.observed_graph import observe
from flowsim.facts.choice_table import CHOICES, ChoiceKind
from flowsim.sim.exploring_loop import Space
from flowsim.sim.origin import What
from flowsim.testing import Schedule, run_job
from tests.support.explore.tiny_jobs import compiled
from tests.unit.explore.test_exhaustive import union


def job() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1, 2]).union(env.from_collection([3])).map(lambda number: number).name("all")
    return env


@pytest.mark.parametrize(
    ("space", "kinds"),
    [("order", {ChoiceKind.ARRIVE}), ("runtime", {ChoiceKind.ARRIVE, ChoiceKind.CREDIT, ChoiceKind.TURN})],
)
def test_recorded_choices_are_those_of_the_token(space: Space, kinds: set[ChoiceKind]) -> None:
    graph = job().stream_graph()
    explored = ExploredJob(graph, compiled(union(1)).run_options(), job_digest(observe(graph).graph), space)
    for one in explore_job(explored, 30, strategy="uniform").results.values():
        run = run_job(job(), schedule=Schedule.of(str(one.token)))
        rows = run.facts.rows(CHOICES.name)
        assert [row[0] for row in rows] == list(range(len(rows)))
        assert tuple((row[0], row[1]) for row in rows if row[1]) == one.token.deviations
        assert all(0 <= row[1] < row[2] for row in rows)
        assert kinds <= {ChoiceKind(row[3]) for row in rows}
        assert {row[4:7] for row in rows if row[3] == ChoiceKind.ARRIVE} <= {(2, 0, 0), (2, 1, 1)}


def test_every_kind_of_origin_has_a_name_in_the_table() -> None:
    assert [kind.name.lower() for kind in ChoiceKind] == sorted(
        get_args(What), key=lambda what: ChoiceKind[what.upper()]
    )
    assert {kind.name.lower() for kind in ChoiceKind} == set(get_args(What))
