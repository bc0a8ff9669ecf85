"""What a queue of watermarks tells those behind it: a fact of what left comes after what it told (rules 11.2, 11.3)."""

from __future__ import annotations

from flowsim.validation.checks.event_time_queue import Queue, Reader

WATERMARK, STATUS = 1, 2
IDLE, ACTIVE = -1, 0
MAX = 2**63 - 1


def queue_and_reader() -> tuple[Queue, Reader]:
    queue, reader = Queue(), Reader(9)
    queue.channels.append(reader)
    return queue, reader


def test_a_watermark_belongs_to_the_cause_before_the_row_that_tells_of_it() -> None:
    queue, reader = queue_and_reader()
    reader.rows.append((4, WATERMARK, 10))
    assert queue.emitted(5, WATERMARK, 10) == []
    assert queue.end(True, None) == []


def test_what_was_not_sent_before_it_was_told_of_is_missing_and_what_follows_is_unexpected() -> None:
    queue, reader = queue_and_reader()
    assert queue.emitted(5, WATERMARK, 10) == [("not sent", -1, 9, 10)]
    reader.rows.append((6, WATERMARK, 10))
    assert queue.end(True, None) == [("nothing calls for it", 6, 9, 10)]


def test_a_status_overtakes_and_an_idle_output_drops_watermarks() -> None:
    queue, reader = queue_and_reader()
    assert queue.changed(3, IDLE, True) == []
    reader.rows.append((4, STATUS, IDLE))
    assert queue.emitted(5, WATERMARK, 10) == []
    assert queue.changed(6, ACTIVE, True) == []
    reader.rows += [(7, STATUS, ACTIVE), (8, WATERMARK, 11)]
    assert queue.emitted(9, WATERMARK, 11) == []


def test_in_a_prefix_the_next_watermark_may_have_left_already() -> None:
    for whole, found in ((False, []), (True, [("nothing calls for it", 4, 9, 10)])):
        queue, reader = queue_and_reader()
        reader.rows.append((4, WATERMARK, 10))
        assert queue.end(whole, 10) == found


def test_the_end_of_event_time_is_where_the_last_watermark_was_handed_on() -> None:
    queue, _ = queue_and_reader()
    queue.channels.clear()
    queue.emitted(5, WATERMARK, 10)
    queue.emitted(8, WATERMARK, MAX)
    assert queue.end_at == 5
