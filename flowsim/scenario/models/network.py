"""What the network between the tasks of a scenario is like: placement, links, exchange modes, debloating."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from flowsim.scenario.models.types import ByteSize, DurationMs, DurationNs, Name, Strict

PLACE_PATTERN = r"^[A-Za-z][A-Za-z0-9_-]{0,63}(/\d{1,5}(-\d{1,5})?)?$"

Exchange = Literal["pipelined_bounded", "pipelined", "blocking"]
Place = Annotated[str, Field(pattern=PLACE_PATTERN)]
TaskManagersSetting = (
    Literal["each", "one"] | Annotated[dict[Name, list[Place]], Field(min_length=1, max_length=10_000)]
)


class LinkModel(Strict):
    """How long the network takes between the tasks of two operators, where they run on different task managers."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=False)

    source: Name | None = Field(default=None, alias="from", description="A source or operator; without it any.")
    target: Name | None = Field(default=None, alias="to", description="An operator or sink; without it any.")
    latency: DurationNs = Field(default=0, description="From the end of sending to the arrival; credits take it, too.")
    bandwidth: Annotated[ByteSize, Field(ge=1)] | None = Field(
        default=None, description="Bytes per second of one connection: one pair of subtasks."
    )


class BufferDebloatModel(Strict):
    """Receivers tell their senders to fill buffers less, so that what is under way takes about the target time."""

    enabled: bool = True
    period: Annotated[DurationMs, Field(ge=1)] = 200
    target: Annotated[DurationMs, Field(ge=1)] = 1000
    threshold: Annotated[int, Field(ge=0, le=100)] = Field(
        default=25, description="Percent by which a size must change to be announced."
    )
    samples: Annotated[int, Field(ge=1, le=1_000_000)] = 20
    starting_size: Annotated[ByteSize, Field(ge=1, le=1 << 26)] = 1024
    minimum_size: Annotated[ByteSize, Field(ge=1, le=1 << 26)] = 256
