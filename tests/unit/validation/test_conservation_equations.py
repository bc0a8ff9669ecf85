"""The equations of conservation, one story per family (rules 7.20, 13.4)."""

from __future__ import annotations

from flowsim.validation.checks.conservation_equations import broken, keep_books

Item = tuple[str, int, int, int, int, int, int, int, str, str]


def item(name: str, task: int = 0, operator: int = 0, *numbers: int, text: str = "", tag: str = "") -> Item:
    a, b, c, d = (*numbers, *[0] * (4 - len(numbers)))
    return (name, task, operator, a, b, c, d, 0, text, tag)


def job(partitioner: str = "HASH") -> list[Item]:
    """Task 0: a source and a process operator whose side output 'x' a chained sink and an edge read. Task 1, 2: sinks."""
    return [
        item("task", 0, 0, 0), item("task", 1, 0, 1), item("task", 2, 0, 1),
        item("operator", 0, 0, 0, -1, text="source"), item("operator", 0, 1, 0, 0, text="process"),
        item("operator", 0, 2, 0, 1, text="sink", tag="x"), item("operator", 0, 0, 1, -1, text="sink"),
        item("edge", 0, 1, 0, 0, text=partitioner), item("edge", 0, 1, 1, 0, text="REBALANCE", tag="x"),
        item("channel", 0, 0, 0, 0), item("channel", 0, 0, 1, 0), item("channel", 0, 0, 2, 1), item("channel", 0, 0, 3, 1),
    ]  # fmt: skip


def books(partitioner: str, *changed: Item, whole: bool = True, finished: tuple[int, ...] = (0, 1, 2)) -> list[str]:
    """What is broken; an item in ``changed`` takes the place of the one with the same name, task, operator (and channel)."""
    each = 10 if partitioner == "BROADCAST" else 5
    counted = [
        item("counters", 0, 0, 12, 12), item("counters", 0, 1, 12, 10, 4), item("counters", 0, 2, 4),
        item("counters", 1, 0, each + 2), item("counters", 2, 0, each + 2),
        item("received", 1, 0, 0, each + 2), item("received", 2, 0, 0, each + 2),
        item("sent", 0, 0, 0, each), item("sent", 0, 0, 1, each), item("sent", 0, 0, 2, 2), item("sent", 0, 0, 3, 2),
        *(item("finished", task) for task in finished),
    ]  # fmt: skip

    def place(i: Item) -> tuple[object, ...]:
        return (*i[:3], i[3] if i[0] == "sent" else None)

    replaced = {place(i): i for i in changed}
    items = [*job(partitioner), *(replaced.get(place(i), i) for i in counted)]
    return [what for _, _, what, _, _ in broken(keep_books(whole, iter(items)))]


def test_an_honest_job_balances() -> None:
    assert books("HASH") == []
    assert books("BROADCAST") == []


def test_every_channel_of_a_broadcast_edge_carries_all_records() -> None:
    assert books("BROADCAST", item("sent", 0, 0, 1, 9)) == ["edge: out = records sent"]
    assert books("HASH", item("sent", 0, 0, 1, 6)) == ["edge: out = records sent"]


def test_all_readers_of_a_side_output_get_the_same() -> None:
    assert books("HASH", item("counters", 0, 2, 3)) == ["side output x: its readers agree"]
    assert books("HASH", item("counters", 0, 1, 12, 10, 5)) == ["side output: its tags add up"]


def test_a_sink_gives_out_nothing_and_takes_in_what_it_received() -> None:
    assert books("HASH", item("counters", 1, 0, 7, 1)) == ["kind: a sink gives out nothing"]
    assert books("HASH", item("received", 1, 0, 0, 8)) == ["head: in = records received"]


def test_one_element_may_be_under_way_in_a_task_that_did_not_finish() -> None:
    one, two = item("counters", 1, 0, 6), item("counters", 1, 0, 5)
    assert books("HASH", one, whole=False, finished=(0, 2)) == []
    assert books("HASH", two, whole=False, finished=(0, 2)) == ["head: in = records received"]
    assert books("HASH", one, whole=False) == ["head: in = records received"]


def test_with_an_emitter_thread_its_task_its_timers_and_it_may_have_one_each() -> None:
    """Rule 11.30: the operator of tasks 1 and 2 has the legacy design."""
    legacy = item("operator", 0, 0, 1, -1, 1, text="async_wait")

    def wrong(received: int, finished: bool) -> bool:
        items = [legacy if i[0] == "operator" and i[3] == 1 else i for i in job() if i[0] != "channel"]
        items += [item("counters", 1, 0, 7), item("asked", 1, 0, 7), item("received", 1, 0, 0, received)]
        items += [item("finished", 1)] if finished else []
        return bool(broken(keep_books(False, iter(items))))

    assert [wrong(received, False) for received in (7, 6, 4, 3)] == [False, False, False, True]
    assert [wrong(received, True) for received in (7, 6)] == [False, True]


def test_missing_counters_break_presence_only_in_a_whole_run() -> None:
    items = [i for i in job() if i[0] != "channel"]
    assert len(broken(keep_books(True, iter(items)))) == 5
    assert broken(keep_books(False, iter(items))) == []
    twice = [*items, item("counters", 1, 0), item("counters", 1, 0)]
    assert [row[:3] for row in broken(keep_books(False, iter(twice)))] == [(1, 0, "presence: one row of counters")]
