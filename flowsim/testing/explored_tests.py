"""A test that runs under every order of events: ``@explore(runs=200)``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from flowsim.errors import BadInput
from flowsim.explore.runs import Runs
from flowsim.explore.shrink import shortest
from flowsim.quantities import count_text
from flowsim.sim.choice_token import ChoiceToken, Recorded, Recounted
from flowsim.sim.exploring_loop import Space
from flowsim.sim.sampled.by_strategy import replay
from flowsim.testing.drawn import PARAMETER, is_one_of_many
from flowsim.testing.schedule import Schedule

FOLDER: Final = ".flowsim"
"""The folder beside a test's file in which the tokens of its failures are kept."""


@dataclass(frozen=True)
class ExploringSchedule(Schedule):
    """The schedule of one run, whose choices are made while it runs."""

    source: Recorded | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "_digests", [])

    @property
    def digests(self) -> list[str]:
        """The digest of the job, once it runs."""
        found: list[str] = self.__dict__["_digests"]
        return found

    @property
    def token(self) -> str:
        return str(self._made_by.token(self.digests[0]))

    @property
    def made(self) -> ChoiceToken:
        """The choices of the run."""
        return self._made_by.token_of_choices(self.digests[0])

    @property
    def _made_by(self) -> Recorded:
        if self.source is None or not self.digests:
            raise BadInput(
                f"@explore: the test did not run a job with its {PARAMETER}: run_job(job, {PARAMETER}={PARAMETER})"
            )
        return self.source

    def choices_for(self, digest: str) -> Recorded | None:
        if self.digests:
            raise BadInput(
                "@explore: a schedule is for one run: call run_job once, and compare in the test what it returns"
            )
        self.digests.append(digest)
        if self.source is not None and self.source.expected is not None:
            self.source.expected.check_job(digest)
        return self.source


def explore(
    *,
    runs: int = 200,
    all_orders: bool = False,
    seed: int = 0,
    space: Space = "order",
    strategy: str | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Runs a test once for each order of events that a task can tell apart, or ``runs`` times.

    ``space`` runtime: for other schedules of the engine, which ``strategy`` chooses (``flowsim explore --strategy``).

    The test has a parameter ``schedule`` and calls ``run_job(job, schedule=schedule)`` once. If it fails, the choices are
    shrunk, and the error names the token of the run. Tokens of failures are kept in ``.flowsim`` beside the test's file, and
    run first the next time. ``all_orders``: a test whose orders are not all tried in ``runs`` runs fails as well. ``seed`` is
    that of the runs with random choices.

    Below ``@given`` of Hypothesis, each example is explored. The data are reduced first, then the choices.

    Raises BadInput for a test without this parameter, fewer than one run, an unknown strategy, or all orders of the runtime
    space.
    """
    if type(runs) is not int or runs < 1:
        raise BadInput(f"@explore: expected runs >= 1, got {runs!r}")
    if all_orders and space != "order":
        raise BadInput("@explore: all_orders applies to the order space only")
    Runs(space, strategy, seed, runs)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)
        if hasattr(test, "hypothesis"):
            raise BadInput(f"@explore: write it below @given of {test.__name__}, so that each example is explored")
        if PARAMETER not in signature.parameters:
            raise BadInput(f"@explore: the test {test.__name__} needs a parameter '{PARAMETER}'")

        @functools.wraps(test)
        def explored(*args: Any, **kwargs: Any) -> None:
            def call(schedule: ExploringSchedule) -> None:
                test(*args, **kwargs, **{PARAMETER: schedule})

            _ExploredTest(call, FailingOrders.of(test)).run(
                runs, Runs(space, strategy, seed, runs), all_orders=all_orders
            )

        others = [each for each in signature.parameters.values() if each.name != PARAMETER]
        explored.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return explored

    return decorate


@dataclass(frozen=True, slots=True)
class FailingOrders:
    """The tokens of a test's failures: lines of a file beside it, each with the name of a test and a token."""

    file: Path
    test: str

    @classmethod
    def of(cls, test: Callable[..., None]) -> FailingOrders:
        """Returns those of a test function."""
        source = Path(inspect.getfile(test))
        return cls(source.parent / FOLDER / "failing_orders.txt", f"{source.name}::{test.__qualname__}")

    def tokens(self) -> list[ChoiceToken]:
        """Returns the tokens, without lines that are damaged."""
        found = []
        for name, token in self._lines():
            with suppress(BadInput):
                found += [ChoiceToken.parse(token)] if name == self.test else []
        return found

    def add(self, token: ChoiceToken) -> bool:
        """Adds a token, unless the file has it; returns False if the file cannot be written."""
        lines = self._lines()
        if (self.test, str(token)) not in lines:
            lines = sorted([*lines, (self.test, str(token))])
            try:
                self.file.parent.mkdir(exist_ok=True)
                self.file.write_text("".join(f"{name} {each}\n" for name, each in lines), encoding="utf-8")
            except OSError:
                return False
        return True

    def _lines(self) -> list[tuple[str, str]]:
        with suppress(OSError, UnicodeDecodeError):
            lines = (line.rpartition(" ") for line in self.file.read_text(encoding="utf-8").splitlines())
            return [(name, token) for name, space, token in lines if space]
        return []


class _ExploredTest:
    """Calls a test with one schedule after the other."""

    def __init__(self, call: Callable[[ExploringSchedule], None], failures: FailingOrders) -> None:
        self._call = call
        self._failures = failures

    def run(self, runs: int, sources: Runs, *, all_orders: bool) -> None:
        for token in self._failures.tokens():
            with suppress(BadInput):  # the job has changed since
                self._run(replay(token), "an order that failed before")
        for number in range(1, runs + 1):
            source = sources.next_run()
            if source is None:
                break
            self._run(source, f"run {number} of the {sources.space} space")
            sources.ended(source, is_new=False)
        search = sources.search()
        if all_orders and not search.is_complete:
            how_far = f"{search.share:.2%} of the tree; raise runs, or make the job smaller"
            raise AssertionError(f"not all orders were tried in {count_text(runs, 'run')}: {how_far}")

    def _run(self, source: Recorded, which: str) -> None:
        schedule = ExploringSchedule(source=source)
        try:
            self._call(schedule)
        except BadInput:
            raise
        except Exception as error:
            if not schedule.digests or is_one_of_many():
                # Hypothesis reduces the data first, and then runs the smallest example again.
                raise
            kind = type(error)
            smallest = shortest(schedule.made, self._recounted, lambda token: self._failure(token, kind) is not None)
            failed = self._failure(smallest, kind) or error
            is_kept = self._failures.add(smallest)
            where = f" ({self._failures.file} keeps it, and the test begins with it)" if is_kept else ""
            choices = count_text(len(smallest.deviations), "choice")
            failed.add_note(
                f"flowsim: {which} fails; {choices} other than the default. Repeat it with\n"
                f"    run_job(job, schedule=Schedule.of({str(smallest)!r})){where}"
            )
            raise failed from None
        schedule.made  # noqa: B018  a test that runs no job is refused

    def _recounted(self, token: ChoiceToken) -> ChoiceToken:
        """Returns the same choices in the other order of turns; the test fails with them."""
        schedule = ExploringSchedule(source=Recounted(token, "fair"))
        with suppress(Exception):
            self._call(schedule)
        return schedule.made

    def _failure(self, token: ChoiceToken, kind: type[Exception]) -> Exception | None:
        """Returns the error of the test with these choices, if it is of this type."""
        try:
            self._call(ExploringSchedule(source=replay(token)))
        except BadInput:
            return None
        except Exception as error:
            return error if type(error) is kind else None
        return None
