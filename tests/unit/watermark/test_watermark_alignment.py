"""The sampler and the parameters of watermark alignment (rules 8.22, 8.23)."""

from __future__ import annotations

import pytest

from flowsim.operators.sources.source_alignment import WatermarkSampler
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from flowsim.watermark.watermark_strategy import WatermarkAlignmentParams


def test_oldest_of_three_samples_lags_three_intervals() -> None:
    sampler = WatermarkSampler(3)
    seen = []
    for watermark in (10, 20, 30, 40, 40, 40):
        sampler.add_latest(watermark)
        sampler.sample()
        seen.append((sampler.oldest_sample, sampler.is_settled))
    assert seen == [
        (NO_TIMESTAMP, False), (NO_TIMESTAMP, False), (10, False), (20, False), (30, False), (40, True),
    ]  # fmt: skip


def test_sampler_without_samples_returns_latest_value() -> None:
    sampler = WatermarkSampler(0)
    sampler.add_latest(7)
    assert (sampler.oldest_sample, sampler.is_settled) == (7, True)
    with pytest.raises(ValueError, match="0 samples or more"):
        WatermarkSampler(-1)


def test_limit_is_slowest_watermark_plus_drift_and_saturates() -> None:
    params = WatermarkAlignmentParams("group", 100)
    assert params.update_interval_ms == 1000
    assert params.limit_above(5) == 105
    assert params.limit_above(MAX_WATERMARK) == MAX_WATERMARK
    assert params.limit_above(MAX_WATERMARK - 99) == MAX_WATERMARK


def test_smallest_parameters_are_no_drift_and_an_interval_of_1_ms() -> None:
    params = WatermarkAlignmentParams("group", 0, 1)
    assert (params.max_allowed_watermark_drift_ms, params.update_interval_ms) == (0, 1)


@pytest.mark.parametrize(
    ("drift", "interval", "message"), [(-1, 1000, "drift must be 0 ms"), (0, 0, "interval must be 1")]
)
def test_invalid_parameters_are_refused(drift: int, interval: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WatermarkAlignmentParams("group", drift, interval)
