"""The combined event time of several inputs (rule 8.16)."""

from __future__ import annotations

from flowsim.watermark.combined_watermark_status import IndexedCombinedWatermarkStatus


def test_slower_input_decides_and_idle_input_is_ignored() -> None:
    combined = IndexedCombinedWatermarkStatus(2)
    assert not combined.update_watermark(0, 10)
    assert combined.update_watermark(1, 5)
    assert combined.combined_watermark == 5
    assert combined.update_status(1, True)
    assert combined.combined_watermark == 10


def test_watermark_on_idle_input_makes_it_active() -> None:
    combined = IndexedCombinedWatermarkStatus(2)
    combined.update_status(0, True)
    combined.update_status(1, True)
    assert combined.idle
    assert combined.update_watermark(0, 3)
    assert not combined.idle


def test_all_idle_gives_maximum_and_combined_watermark_never_decreases() -> None:
    combined = IndexedCombinedWatermarkStatus(2)
    combined.update_watermark(0, 10)
    combined.update_watermark(1, 5)
    combined.update_status(0, True)
    assert combined.combined_watermark == 5
    assert combined.update_status(1, True)
    assert combined.combined_watermark == 10
    assert not combined.update_status(1, False)
    assert combined.combined_watermark == 10
