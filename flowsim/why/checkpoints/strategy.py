"""What the restart strategy of a job decided about a failure, and why (rules 12.124 to 12.129)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flowsim.history.restarts import Failover
from flowsim.quantities import count_text, duration_text
from flowsim.units import NS_PER_MS
from flowsim.why.answer import Cause
from flowsim.why.run_facts import RunFacts


def strategy_cause(facts: RunFacts, failover: Failover) -> Cause:
    """Why a failure was followed by a restart, and after which delay, or by none."""
    delay = duration_text(failover.failure.delay_ms * NS_PER_MS)
    name, settings = _strategy(facts)
    nth = f"this is failure number {failover.number:,} of the run"
    if failover.is_final and (outside := _outside(facts, failover, name, settings)) is not None:
        return outside
    if name in ("", "none") and not failover.is_final:
        text = f"The restart was due {delay} after the failure; the recording does not contain the restart strategy of the job."
        return Cause(text, ("12.123",))
    match name:
        case "fixed_delay":
            attempts, rules = settings.get("attempts", 1), ("12.125",)
            text = f"The restart strategy fixed-delay allows {count_text(attempts, 'restart')}: {nth}"
        case "failure_rate":
            most, rules = settings.get("max_failures_per_interval", 1), ("12.126",)
            interval = duration_text(_ms(settings, "failure_rate_interval", 60_000) * NS_PER_MS)
            text = f"The restart strategy failure-rate allows {count_text(most, 'failure')} in {interval}: {nth}"
        case "exponential_delay":
            rules = ("12.127",)
            which = (
                "The restart strategy is"
                if settings
                else "No restart strategy is set, so with periodic checkpoints it is"
            )
            first = duration_text(_ms(settings, "initial_backoff", 1000) * NS_PER_MS)
            text = (
                f"{which} exponential-delay: {first} after the first failure, longer by the factor "
                f"{settings.get('backoff_multiplier', 1.5):g} after each further one, with jitter; {nth}"
            )
        case "none":
            return Cause("The restart strategy of the job is none: every failure is final.", ("12.129",))
        case _:
            text = "The job sets no restart strategy, and without periodic checkpoints every failure is final."
            return Cause(text, ("12.129",))
    if failover.is_final:
        return Cause(f"{text}, so no further restart is allowed.", (*rules, "12.129"))
    return Cause(f"{text}, so the restart is due {delay} after it.", rules)


def _outside(facts: RunFacts, failover: Failover, name: str, settings: Mapping[str, Any]) -> Cause | None:
    """Why no restart follows although the strategy does not forbid it; None if it does."""
    failure = facts.recording.manifest.failure
    if failure is not None and failure.cause.startswith("RunTooLong"):
        text = "The run reached its limit of restarts (--limit restarts=N raises it), which Flink does not have."
        return Cause(text, ("12.129",))
    if name == "fixed_delay" and failover.number <= settings.get("attempts", 1):
        text = "The failure is not recoverable: the job fails without a question to its restart strategy."
        return Cause(text, ("12.124",))
    return None


def _strategy(facts: RunFacts) -> tuple[str, Mapping[str, Any]]:
    """The strategy by its name in scenarios, and its settings, which are empty if the job sets none."""
    run = facts.recording.manifest.run.settings
    given = run.get("restart_strategy")
    if isinstance(given, Mapping):
        for name in ("fixed_delay", "failure_rate", "exponential_delay", "none"):
            if isinstance(given.get(name), Mapping):
                return name, given[name]
        for name, key in (
            ("fixed_delay", "attempts"), ("failure_rate", "max_failures_per_interval"),
            ("exponential_delay", "initial_backoff_ms"),
        ):  # fmt: skip
            if key in given:
                return name, given
        return "none", given
    checkpointing = run.get("checkpointing")
    interval = (
        checkpointing.get("interval", checkpointing.get("interval_ms")) if isinstance(checkpointing, Mapping) else None
    )
    return ("", {}) if interval is None else ("exponential_delay", {})


def _ms(settings: Mapping[str, Any], name: str, default: int) -> int:
    found = settings.get(name, settings.get(f"{name}_ms", default))
    return found if isinstance(found, int) else default
