"""Random scripted jobs with unaligned checkpoints, whose operators wait until data is in flight, by a seed."""

from __future__ import annotations

from typing import Any

from tests.support.jobs.checkpoint_job_writer import CONNECTED, KINDS, CheckpointJobWriter

MOST_HELD = 8
"""Steps while operators wait."""


class UnalignedJobWriter(CheckpointJobWriter):
    """Writes one case; ``compared`` says what Flink determines of it.

    ``order``: all that each attempt saw, in order. ``key``: of each key, what came before a snapshot and after its restore.
    ``committed``: only what was committed.
    """

    name = "unaligned job"
    kinds = (*(kind for kind in KINDS if kind not in CONNECTED), *["keyed"] * 6)

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.is_free = self.kind == "keyed" and self.random.random() < 0.5
        if not self.is_free:
            # In-flight data of several channels is restored in any order.
            self.scripts = [[[]]]
            self.places = [(0, 0)]
            self.times, self.watermarks = {(0, 0): 0}, {(0, 0): -1}
        self.has_several_places = len(self.places) > 1
        self.own_keys = {
            place: [f"k{key}" for key in range(number, 9, len(self.places))][:3]
            for number, place in enumerate(self.places)
        }
        self.held: set[int] = set()
        """Records that operators receive after a hold."""
        self.holds = 0

    def case(self) -> dict[str, Any]:
        case = super().case()
        # The scripts fail at other times.
        failing = [number for number in self.failing if number not in self.held]
        case["params"]["fail_ids"] = failing
        parallelisms = {phase["parallelism"] for phase in case["phases"]}
        is_late = case["params"]["network"]["spread"] and case["params"]["aligned_timeout_ms"] > 0
        if not self.holds or not (self.has_several_places or is_late or len(parallelisms) > 1):
            compared = "order"
        else:
            compared = "key" if self.kind == "keyed" else "committed"
        return {**case, "compared": compared}

    def _params(self) -> dict[str, Any]:
        random = self.random
        network = {
            "spread": random.random() < 0.4,
            "exclusive": random.choice([1, 2, 2]),
            "floating": random.choice([1, 8, 8]),
        }
        return super()._params() | {
            "mode": "EXACTLY_ONCE",
            "unaligned": True,
            "aligned_timeout_ms": random.choice([0, 0, 15]),
            "network": network,
        }

    def _orders(self, timestamp: int) -> list[int]:
        """Where channels have no common order, a timer that is deleted may have fired."""
        orders = super()._orders(timestamp)
        if self.is_free:
            return [word if index % 2 else 1 for index, word in enumerate(orders)]
        return orders

    def _key(self, place: tuple[int, int]) -> str:
        """Sources of one job share no key, so the records of a key have one order."""
        key = super()._key(place)
        return self.random.choice(self.own_keys[place]) if self.has_several_places else key

    def _snapshot(self, *operation: Any) -> None:
        """Takes most snapshots while data is in flight."""
        if self.random.random() < 0.7:
            self.holds += 1
            self._control("hold")
            first = self.records
            self._elements(self.random.randint(2, MOST_HELD))
            self.held.update(range(first, self.records))
            if operation[0] == "stop":
                self._answer_all()
            if operation[0] == "ck_nowait_notify":
                operation = ("ck",)
        super()._snapshot(*operation)
