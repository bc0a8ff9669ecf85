"""What ends the command line: an interrupt, whatever error the interrupted code made of it, or a bug."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import pytest
from pydantic_core import SchemaValidator, core_schema

from flowsim.cli import main as command_line


class Interrupting:
    """Interrupts the code that reads an attribute of it."""

    def __getattribute__(self, name: str) -> object:
        raise KeyboardInterrupt


class Letter(Enum):
    A = "a"


def build_validator() -> None:
    """Pydantic raises an error without a cause: "Error building ... KeyboardInterrupt"."""
    SchemaValidator(core_schema.list_schema(core_schema.enum_schema(Letter, [Interrupting()])))


def close_after_interrupt() -> None:
    try:
        raise KeyboardInterrupt
    finally:
        raise OSError("cannot close")


def wrap() -> None:
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt as interrupt:
        try:
            raise ValueError("inner") from interrupt
        except ValueError:
            raise RuntimeError("outer") from None


def fail() -> None:
    try:
        raise ValueError("KeyboardInterrupt")
    except ValueError as first:
        raise RuntimeError("second") from first


@pytest.mark.parametrize(
    ("ends_with", "code"), [(build_validator, 130), (close_after_interrupt, 130), (wrap, 130), (fail, 70)]
)
def test_errors_of_interrupted_code_end_as_an_interrupt(
    ends_with: Callable[[], None], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command_line, "app", lambda **options: ends_with())
    with pytest.raises(SystemExit) as ended:
        command_line.main()
    assert ended.value.code == code
    assert ("This is a bug in flowsim" in capsys.readouterr().err) == (code == 70)
