"""The output of a job equals that of a plain batch model, written here from the rules."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from flowsim.connectors.script import IdleEntry, RecordEntry, ScriptedSource, WatermarkEntry, record, watermark
from flowsim.testing import (
    JobRun,
    Schedule,
    job_settings,
    per_key_order,
    run_job,
    schedules,
    scripted_sources,
)
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from tests.support.examples import examples
from tests.support.faults import Fault
from tests.support.jobs.fixed_jobs import (
    WINDOW_MS,
    Fired,
    Pair,
    exchange,
    records_of,
    tagged,
    two_exchanges,
    windows,
    word_count,
)

pytestmark = pytest.mark.property

LINES = st.lists(st.lists(st.sampled_from(["to", "be", "or", "not"]), max_size=4).map(" ".join), max_size=6)
LATENESS = st.sampled_from([0, 5, 25])


def key_of(value: tuple[object, ...]) -> Hashable:
    return value[0]


@given(lines=LINES, settings=job_settings(), schedule=schedules())
def test_word_count_counts_each_word(lines: list[str], settings: dict[str, int], schedule: Schedule) -> None:
    run = run_job(word_count(lines, settings), schedule=schedule)
    expected = Counter(" ".join(lines).split())
    counted = per_key_order(run, key_of)
    run.claim(
        "each word is counted from 1 to the number of times it occurs",
        counted == {word: [(word, n + 1) for n in range(count)] for word, count in expected.items()},
        counted,
    )


# Windows over one source subtask: its records and watermarks reach every window in the order of the script, so the
# model knows the watermark at each record, and the result is exact under every schedule.


@dataclass
class WindowModel:
    """Sections 8 and 10 of the rules for one input channel, as a loop over the script."""

    lateness_ms: int
    watermark: int = NO_TIMESTAMP
    contents: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    fired: dict[Hashable, list[Fired]] = field(default_factory=lambda: defaultdict(list))
    late: dict[Hashable, list[Pair]] = field(default_factory=lambda: defaultdict(list))

    def play(self, script: Iterable[object]) -> None:
        is_idle = False
        for entry in script:
            match entry:
                case RecordEntry(value, timestamp):
                    assert isinstance(value, tuple)
                    assert timestamp is not None
                    is_idle = False
                    self.record(value, timestamp)
                case WatermarkEntry(timestamp):
                    is_idle = False
                    self.advance(timestamp)
                case IdleEntry():
                    is_idle = True
        if not is_idle:
            self.advance(MAX_WATERMARK)

    def record(self, pair: Pair, timestamp: int) -> None:
        start = timestamp - timestamp % WINDOW_MS
        last_ms = start + WINDOW_MS - 1
        if last_ms + self.lateness_ms <= self.watermark:
            self.late[pair[0]].append(pair)
            return
        self.contents.setdefault((pair[0], start), []).append(pair[1])
        if last_ms <= self.watermark:
            self.fire(pair[0], start)

    def advance(self, watermark: int) -> None:
        before, self.watermark = self.watermark, watermark
        for key, start in sorted(self.contents, key=lambda place: place[1]):
            last_ms = start + WINDOW_MS - 1
            if before < last_ms <= watermark:
                self.fire(key, start)
            if last_ms + self.lateness_ms <= watermark:
                del self.contents[key, start]

    def fire(self, key: str, start: int) -> None:
        self.fired[key].append((key, start, list(self.contents[key, start]), self.watermark))


def check_windows(run: JobRun, source: ScriptedSource, lateness_ms: int) -> None:
    model = WindowModel(lateness_ms)
    model.play(source.scripts[0])
    fired, late = per_key_order(run, key_of, "windows"), per_key_order(run, key_of, "late")
    run.claim("every window fires when and with what the model says", fired == model.fired, fired, dict(model.fired))
    run.claim("exactly the model's rows are late, in their order", late == model.late, late, dict(model.late))


LONG_SCRIPT = scripted_sources(max_subtasks=1, min_entries=6, max_entries=24)


@hypothesis_settings(max_examples=examples(210))
@given(source=LONG_SCRIPT, lateness_ms=LATENESS, settings=job_settings(), schedule=schedules())
def test_windows_over_one_source_equal_model(
    source: ScriptedSource, lateness_ms: int, settings: dict[str, int], schedule: Schedule
) -> None:
    check_windows(run_job(windows(source, lateness_ms, settings), schedule=schedule), source, lateness_ms)


@pytest.mark.parametrize(
    "fault", ["window_loses_row", "window_fires_early", "late_row_kept", "late_row_lost_early", "drop_element"]
)
def test_fault_makes_the_window_model_fail(fault: str) -> None:
    script = [record(("a", 1), 3), record(("a", 2), 5), watermark(12), record(("a", 3), 4), record(("a", 4), 15)]
    source = ScriptedSource(script)
    check_windows(run_job(windows(source, 0, {})), source, 0)
    with pytest.raises(AssertionError, match=f"reproduce: .*{fault}"):
        check_windows(run_job(windows(source, 0, {}), faults=[Fault(fault)]), source, 0)


# Over several source subtasks the schedule decides what is late; what never depends on it is that no row gets lost.


def last_contents(run: JobRun) -> Counter[tuple[str, int]]:
    """The rows of all windows: a window that fired again for a row in lateness holds what it held before, and more."""
    newest: dict[tuple[str, int], list[int]] = {}
    for fired in run.values("windows"):
        key, start, numbers, _ = fired  # type: ignore[misc]
        before = newest.get((key, start), [])
        run.claim("a window that fires again only has more rows", numbers[: len(before)] == before, fired)
        newest[key, start] = numbers
    return Counter((key, number) for (key, _), numbers in newest.items() for number in numbers)


LONG_SCRIPTS = scripted_sources(min_subtasks=2, min_entries=3, max_entries=14)


def ends_idle(script: Iterable[object]) -> bool:
    is_idle = False
    for entry in script:
        if isinstance(entry, IdleEntry):
            is_idle = True
        elif isinstance(entry, RecordEntry | WatermarkEntry):
            is_idle = False
    return is_idle


@hypothesis_settings(max_examples=examples(140))
@given(source=LONG_SCRIPTS, lateness_ms=LATENESS, settings=job_settings(), schedule=schedules())
def test_every_record_is_in_one_window_or_late(
    source: ScriptedSource, lateness_ms: int, settings: dict[str, int], schedule: Schedule
) -> None:
    run = run_job(windows(source, lateness_ms, settings), schedule=schedule)
    rows, late = last_contents(run), Counter(run.values("late"))
    given_rows = Counter(records_of(source))
    run.claim("no row appears twice or from nowhere", rows + late <= given_rows, rows, late)
    if not all(map(ends_idle, source.scripts)):
        run.claim("the last watermark fires what is left", rows + late == given_rows, rows, late)


@given(source=LONG_SCRIPTS, lateness_ms=LATENESS, settings=job_settings(), schedule=schedules())
def test_window_equals_group_of_its_records_in_time(
    source: ScriptedSource, lateness_ms: int, settings: dict[str, int], schedule: Schedule
) -> None:
    """The batch group-by over the input without the late rows of this very run."""
    source = tagged(source)
    run = run_job(windows(source, lateness_ms, settings), schedule=schedule)
    late = Counter(run.values("late"))
    groups: dict[tuple[object, int], Counter[int]] = defaultdict(Counter)
    for script in source.scripts:
        for entry in script:
            if isinstance(entry, RecordEntry) and entry.value not in late:
                key, number, *_ = entry.value  # type: ignore[misc]
                groups[key, entry.timestamp - entry.timestamp % WINDOW_MS][number] += 1  # type: ignore[operator]
    fired: dict[tuple[object, int], Counter[int]] = {}
    for key, start, numbers, _ in run.values("windows"):  # type: ignore[misc]
        fired[key, start] = Counter(numbers)
    if not all(map(ends_idle, source.scripts)):
        run.claim("windows are the groups of the rows in time", fired == groups, fired, dict(groups))


# Exchanges.


def numbers_per_sender(values: Iterable[object]) -> dict[int, list[int]]:
    """Of values that ``tagged`` made: the sender's own count of its records, in order of arrival."""
    found: dict[int, list[int]] = defaultdict(list)
    for value in values:
        _, _, sender, number = value  # type: ignore[misc]
        found[sender].append(number)
    return found


@pytest.mark.parametrize("how", ["hash", "rebalance", "broadcast"])
@given(source=scripted_sources(), settings=job_settings(), schedule=schedules())
def test_exchange_keeps_order_between_two_subtasks(
    how: str, source: ScriptedSource, settings: dict[str, int], schedule: Schedule
) -> None:
    source = tagged(source)
    run = run_job(exchange(source, how, settings), schedule=schedule)
    (arrived,) = run.outputs().values()
    for values in arrived:
        for sender, numbers in numbers_per_sender(values).items():
            run.claim(f"what comes from sender {sender} comes in its order", numbers == sorted(numbers), numbers)
    copies = settings["parallelism"] if how == "broadcast" else 1
    expected = Counter({row: copies * count for row, count in Counter(records_of(source)).items()})
    run.claim("each row arrives once per subtask that it is for", Counter(run.values()) == expected, arrived)
    if how == "hash":
        per_key_order(run, key_of)
    if how == "rebalance":
        spread = [Counter({sender: len(n) for sender, n in numbers_per_sender(v).items()}) for v in arrived]
        for sender in range(len(source.scripts)):
            counts = [each[sender] for each in spread]
            run.claim(f"sender {sender} serves all subtasks in turn", max(counts) - min(counts) <= 1, counts)


@given(source=scripted_sources(), settings=job_settings(), schedule=schedules())
def test_counts_are_correct_after_two_exchanges(
    source: ScriptedSource, settings: dict[str, int], schedule: Schedule
) -> None:
    run = run_job(two_exchanges(source, settings), schedule=schedule)
    expected = Counter(pair[0] for pair in records_of(source))  # type: ignore[index]
    counted = per_key_order(run, key_of)
    run.claim(
        "per key the counts arrive as 1, 2, 3, ... up to the number of its rows",
        counted == {key: [(key, n + 1) for n in range(count)] for key, count in expected.items()},
        counted,
    )
