"""``flowsim explore --vary``: a scenario with several values of its settings or data, each of which is explored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from flowsim.cli.exit_code import ExitCode
from flowsim.cli.explored_results import ExploredResults
from flowsim.cli.tables import Column, show_table
from flowsim.cli.varied import Overrides
from flowsim.quantities import count_text


def explored_variants(
    combinations: Sequence[Overrides], explored: Callable[[Overrides, bool], ExploredResults]
) -> ExploredVariants:
    """Explores each combination, until one is interrupted. Raises BadInput.

    ``explored`` also gets whether no combination before had a finding.
    """
    variants = ExploredVariants([])
    for overrides in combinations:
        is_first = not any(results.findings for _, results in variants.explored)
        variants.explored.append((overrides, explored(overrides, is_first)))
        if variants.code is ExitCode.INTERRUPTED:
            break
    return variants


@dataclass(frozen=True, slots=True)
class ExploredVariants:
    """The combinations, each with its exploration."""

    explored: list[tuple[Overrides, ExploredResults]]

    @property
    def code(self) -> ExitCode:
        codes = [results.code for _, results in self.explored]
        if ExitCode.INTERRUPTED in codes:
            return ExitCode.INTERRUPTED
        return next((code for code in codes if code is not ExitCode.FINE), ExitCode.FINE)

    def data(self) -> dict[str, Any]:
        """Returns the JSON document."""
        return {
            "variants": [{"set": list(overrides), **results.data()} for overrides, results in self.explored],
            "exit_code": int(self.code),
        }

    def show(self, console: Console, verbose: bool) -> None:
        """Prints one table of all combinations, then each of them."""
        columns = [Column("results"), Column("runs"), Column("findings"), Column("all orders", left=True)]
        rows = [
            (
                " ".join(overrides),
                f"{len(results.exploration.results):,}",
                f"{results.exploration.runs:,}",
                f"{len(results.findings):,}",
                "tried" if results.exploration.is_complete else "-",
            )
            for overrides, results in self.explored
        ]
        console.print(count_text(len(rows), "combination"), style="bold")
        show_table(console, ["set"], columns, rows)
        for overrides, results in self.explored:
            console.print()
            console.print(" ".join(overrides), style="bold", soft_wrap=True, markup=False)
            results.show(console, verbose)
