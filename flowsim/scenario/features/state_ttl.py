"""``state_ttl``: the time to live of the keyed states of an operator."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from flowsim.datastream.state import StateTtlConfig
from flowsim.scenario.types import Count, PositiveMs, Strict
from flowsim.values.durations import Duration

UpdateType = Literal["on_create_and_write", "on_read_and_write", "disabled"]
StateVisibility = Literal["never_return_expired", "return_expired_if_not_cleaned_up"]

_UPDATE_TYPES: Final = {
    "on_create_and_write": StateTtlConfig.UpdateType.OnCreateAndWrite,
    "on_read_and_write": StateTtlConfig.UpdateType.OnReadAndWrite,
    "disabled": StateTtlConfig.UpdateType.Disabled,
}
_VISIBILITIES: Final = {
    "never_return_expired": StateTtlConfig.StateVisibility.NeverReturnExpired,
    "return_expired_if_not_cleaned_up": StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp,
}


class IncrementalCleanupModel(Strict):
    """Checks the next keys of the state at each access."""

    cleanup_size: Count = Field(default=5, description="Number of keys that one access checks.")
    run_cleanup_for_every_record: bool = Field(
        default=False, description="Every record of the operator checks them, too."
    )


class StateTtlModel(Strict):
    """The time to live of values in keyed state, in processing time."""

    ttl: PositiveMs = Field(description="How long a value lives after its last update.")
    update_type: UpdateType = Field(
        default="on_create_and_write",
        description="What extends the life: writing, or also reading; `disabled`: values live for ever.",
    )
    state_visibility: StateVisibility = Field(
        default="never_return_expired", description="Whether an expired value can still be read before its cleanup."
    )
    cleanup_full_snapshot: bool = Field(default=False, description="Checkpoints omit expired values.")
    cleanup_incrementally: IncrementalCleanupModel | None = Field(
        default=None,
        description="How many keys are checked at each access; without it five, if there is cleanup in the background.",
    )
    cleanup_in_background: bool = Field(
        default=True, description="`false`: only reading removes an expired value, unless another cleanup is set."
    )


def state_ttl_config(model: int | StateTtlModel) -> StateTtlConfig:
    """Returns the configuration of a ``state_ttl``: the time in ms, or the block."""
    if isinstance(model, int):
        model = StateTtlModel.model_construct(ttl=model)
    builder = (
        StateTtlConfig.new_builder(Duration.of_millis(model.ttl))
        .set_update_type(_UPDATE_TYPES[model.update_type])
        .set_state_visibility(_VISIBILITIES[model.state_visibility])
    )
    if model.cleanup_full_snapshot:
        builder.cleanup_full_snapshot()
    if model.cleanup_incrementally is not None:
        cleanup = model.cleanup_incrementally
        builder.cleanup_incrementally(cleanup.cleanup_size, cleanup.run_cleanup_for_every_record)
    if not model.cleanup_in_background:
        builder.disable_cleanup_in_background()
    return builder.build()
