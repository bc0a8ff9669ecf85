"""A token: one line of text that reproduces one explored run."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import Final

from flowsim.errors import BadInput

_DIGEST_CHARS: Final = 16
_FORM: Final = re.compile(
    r"flowsim1/(?P<digest>[0-9a-f]{16})/(?P<policy>[a-z]{1,20})/(?P<seed>[0-9]{1,19})/(?P<budget>[0-9]{1,7}|-)"
    r"(?:/(?P<choices>[A-Za-z0-9_-]{1,1000000}))?"
)


@dataclass(frozen=True, slots=True)
class Token:
    """The scenario (the first 16 digits of its digest), seed, policy and budget; ``choices`` if scripted.

    >>> str(Token("0123456789abcdef", "random", 7, 1))
    'flowsim1/0123456789abcdef/random/7/1'
    """

    scenario: str
    policy: str
    seed: int
    budget_records: int | None
    """Elements per batch (``JobSettings.budget_records``); None: as in the scenario."""
    choices: tuple[int, ...] | None = None

    def __str__(self) -> str:
        budget = "-" if self.budget_records is None else str(self.budget_records)
        parts = ["flowsim1", self.scenario, self.policy, str(self.seed), budget]
        return "/".join(parts if self.choices is None else [*parts, _packed(self.choices)])

    @classmethod
    def parse(cls, text: str) -> Token:
        """Parses a token; raises BadInput."""
        match = _FORM.fullmatch(text.strip())
        if match is None:
            raise BadInput(f"expected a token such as flowsim1/0123456789abcdef/random/7/1, got {text[:60]!r}")
        budget, choices = match["budget"], match["choices"]
        return cls(
            match["digest"],
            match["policy"],
            int(match["seed"]),
            None if budget == "-" else int(budget),
            None if choices is None else _unpacked(choices),
        )

    def check_scenario(self, digest: str) -> None:
        """Raises BadInput if the token belongs to another scenario."""
        if not digest.startswith(self.scenario):
            raise BadInput(
                f"the token belongs to the scenario {self.scenario}..., this one is "
                f"{scenario_id(digest)}...: the scenario was changed, or --set differs"
            )


def scenario_id(digest: str) -> str:
    """Returns the part of a scenario's digest that a token contains."""
    return digest[:_DIGEST_CHARS]


def _packed(choices: tuple[int, ...]) -> str:
    """Encodes choices with seven bits per byte, lowest first, then as base64 without padding.

    The highest bit of a byte means that more bytes of the number follow. A leading count distinguishes an empty list of
    choices from None.
    """
    content = bytearray()
    for value in (len(choices), *choices):
        rest = value
        while rest > 0x7F:
            content.append(rest & 0x7F | 0x80)
            rest >>= 7
        content.append(rest)
    return base64.urlsafe_b64encode(bytes(content)).decode().rstrip("=")


def _unpacked(text: str) -> tuple[int, ...]:
    damaged = BadInput("the choices of the token are damaged: copy the whole token")
    try:
        content = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raise damaged from None
    values: list[int] = []
    value = shift = 0
    for byte in content:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            values.append(value)
            value = shift = 0
    if shift or not values or values[0] != len(values) - 1:
        raise damaged
    return tuple(values[1:])
