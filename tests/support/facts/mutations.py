"""All ways to break an honest recording, each with the laws that it breaks and how often."""

from __future__ import annotations

from tests.support.facts import mutations_of_async, mutations_of_elements, mutations_of_machines
from tests.support.facts.mutating import MUTATIONS

# Whoever is imported here registers its mutations.
__all__ = ["MUTATIONS", "mutations_of_async", "mutations_of_elements", "mutations_of_machines"]
