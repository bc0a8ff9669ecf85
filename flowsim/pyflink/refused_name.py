"""A name of PyFlink that flowsim does not have: a program may import it, but not use it."""

from __future__ import annotations

from typing import NoReturn

from flowsim.errors import BadInput
from flowsim.not_simulated import dropped, feature_of_module


class RefusedName:
    """Takes the place of a class of PyFlink; every use raises BadInput with what to do instead.

    Programs import names for annotations, and for parts that a run does not reach.
    """

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    def _refuse(self, asked: str) -> NoReturn:
        feature = feature_of_module(self._module)
        if feature is not None:
            raise BadInput(feature.message(asked))
        raise BadInput(
            dropped(asked, self._name) or f"{asked}: flowsim does not have this class of pyflink.{self._module}"
        )

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        self._refuse(self._name)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            # Python asks for these where it only looks at an object.
            raise AttributeError(name)
        self._refuse(f"{self._name}.{name}")

    def __mro_entries__(self, bases: tuple[object, ...]) -> NoReturn:
        """Refuses to be a base class."""
        self._refuse(self._name)

    def __getitem__(self, parameters: object) -> RefusedName:
        """Returns itself as a generic type: ``Name[int]`` in an annotation."""
        return self

    def __or__(self, other: object) -> RefusedName:
        """Returns itself as a part of a union in an annotation."""
        return self

    __ror__ = __or__

    def __repr__(self) -> str:
        return f"<pyflink.{self._module}.{self._name}, which flowsim does not have>"
