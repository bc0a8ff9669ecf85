"""All mutations of a correct recording, each with the laws that it violates and how often."""

from __future__ import annotations

from tests.support.facts import mutations_of_async, mutations_of_elements, mutations_of_machines
from tests.support.facts.mutating import MUTATIONS

# Each of these modules registers its mutations when it is imported.
__all__ = ["MUTATIONS", "mutations_of_async", "mutations_of_elements", "mutations_of_machines"]
