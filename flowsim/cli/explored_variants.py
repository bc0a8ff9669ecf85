"""``flowsim explore --vary``: a scenario with several values of its settings or data, each of which is explored."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from rich.console import Console

from flowsim.cli.exit_code import ExitCode
from flowsim.cli.explored_results import ExploredResults
from flowsim.cli.tables import Column, show_table
from flowsim.errors import BadInput
from flowsim.quantities import count_text
from flowsim.scenario.yaml.positions import read_document

_MOST: Final = 1_000

Overrides = tuple[str, ...]


def combinations(varied: Sequence[str]) -> list[Overrides]:
    """Returns the overrides of each combination of the values of ``KEY=[VALUE, ...]``. Raises BadInput."""
    found = list(product(*map(_overrides, varied)))
    if len(found) > _MOST:
        raise BadInput(f"--vary: {len(found):,} combinations of values, expected at most {_MOST:,}")
    return found


def _overrides(text: str) -> list[str]:
    key, equals, source = text.partition("=")
    file = f"--vary {text[:60]}"
    values = read_document(source, file).value if equals and key.strip() and source.strip() else None
    if not isinstance(values, list) or not values:
        raise BadInput(f"{file}: expected KEY=[VALUE, ...], such as settings.exclusive_buffers_per_channel=[1, 2]")
    return [f"{key.strip()}={json.dumps(value)}" for value in values]


def explored_variants(varied: Sequence[str], explored: Callable[[Overrides, int], ExploredResults]) -> ExploredVariants:
    """Explores each combination, until one is interrupted; ``explored`` also gets how many there are. Raises BadInput."""
    variants, all_ = ExploredVariants([]), combinations(varied)
    for overrides in all_:
        variants.explored.append((overrides, explored(overrides, len(all_))))
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
