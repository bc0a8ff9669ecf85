"""A game: choices, steps back, what the page shows, and what the end gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flowsim.errors import BadInput
from flowsim.recording.manifest import RunStatus
from tests.support.played import game_of, game_of_puzzle, play_texts

FIRST = "both (1/1) gets record [1] from Source: left (1/1)"
THIRD = "both (1/1) gets record [3] from Source: right (1/1)"


def sinks(state: Any) -> dict[str, list[str]]:
    return {sink["name"]: sink["rows"] for sink in state["sinks"]}


def test_begin_of_a_game_shows_options_and_what_is_under_way(tmp_path: Path) -> None:
    state = game_of_puzzle("fourth_result", tmp_path).state()
    assert state["options"] == [FIRST, THIRD]
    assert state["made"] == 0
    assert state["log"] == []
    assert sinks(state) == {"all": []}
    ends = ["watermark MAX (end of event time)", "the end of the data", "the end of the channel"]
    assert state["channels"] == [
        {"name": "Source: left (1/1) → both (1/1)", "waiting": ["record [1]", "record [2]", *ends]},
        {"name": "Source: right (1/1) → both (1/1)", "waiting": ["record [3]", "record [4]", *ends]},
    ]
    assert state["tasks"][0] == {
        "name": "Source: left (1/1)",
        "received": "a source",
        "sent": "MAX (end of event time)",
    }
    assert (state["ended"], state["solved"]) == (None, False)


def test_choice_happens_and_the_log_says_what_it_did(tmp_path: Path) -> None:
    game = game_of_puzzle("fourth_result", tmp_path)
    state = game.choose(0, 1)
    assert state["log"] == [{"choice": 0, "text": THIRD, "effects": ["sink all gets [3]"]}]
    assert sinks(state) == {"all": ["[3]"]}
    assert state["options"][0] == FIRST


def test_step_back_is_the_position_before(tmp_path: Path) -> None:
    game = game_of_puzzle("late_row", tmp_path)
    positions = [game.state()]
    for made in range(3):
        positions.append(game.choose(made, 1))
    for made in (2, 1, 0):
        assert game.back_to(made) == positions[made]
    assert game.choose(0, 1) == positions[1]


def test_step_with_one_option_happens_by_itself(tmp_path: Path) -> None:
    state = game_of_puzzle("late_row", tmp_path).finish()
    alone = [step["text"] for step in state["log"] if step["choice"] is None]
    assert alone[-1].startswith("warmest (1/1) gets")
    assert len([step for step in state["log"] if step["choice"] is not None]) == state["made"]


def test_row_that_becomes_late_is_in_the_log(tmp_path: Path) -> None:
    game = game_of_puzzle("late_row", tmp_path)
    play_texts(game, ["timed (1/1) gets record [4,21]", "timed (1/1) gets record [12,22]"])
    state = game.finish()
    assert state["solved"]
    effects = [effect for step in state["log"] for effect in step["effects"]]
    assert any(effect.startswith("warmest (1/1) ") and "late" in effect for effect in effects)
    assert "sink late gets [2,25]" in effects


def test_time_calls_and_timers_have_sentences(tmp_path: Path) -> None:
    game = game_of_puzzle("call_times_out", tmp_path)
    assert game.state()["options"] == [
        "the call of asked for record [1] (timestamp 1 ms) is answered",
        "the call of asked for record [2] (timestamp 2 ms) is answered",
        "the call of asked for record [3] (timestamp 3 ms) is answered",
        "time passes from 0 ms to 101 ms",
    ]
    state = game.choose(0, 3)
    assert state["now"] == "101 ms"
    assert "Source: asks (1/1): asked fires the timeout timer of element 0" in state["options"]


def test_law_that_breaks_is_named_before_the_end(tmp_path: Path) -> None:
    game = game_of_puzzle("late_row_counted", tmp_path)
    play_texts(game, ["timed (1/1) gets record [7,1]", "timed (1/1) gets record [14,1]"])
    play_texts(game, ["counts (1/1) gets record [7,1]", "counts (1/1) gets watermark 2 ms"])
    play_texts(game, ["counts (1/1) gets record [14,1]", "counts (1/1) gets watermark 9 ms"])
    assert game.state()["findings"] == []
    play_texts(game, ["timed (1/1) gets record [3,1]", "counts (1/1) gets record [3,1]"])
    state = game.state()
    assert state["ended"] is None
    assert state["findings"] == ["law window-fire violated"]


def test_deadlock_ends_the_game(tmp_path: Path) -> None:
    game = game_of_puzzle("deadlock", tmp_path)
    play_texts(game, ['balance (1/1) gets record ["ann",4]', 'balance (1/1) gets record ["ann",-2]'])
    state = game.finish()
    assert state["ended"]["status"] == "deadlocked"
    assert state["solved"]
    assert "law progress violated" in state["findings"]


def test_job_that_fails_shows_the_cause(tmp_path: Path) -> None:
    file = tmp_path / "fails.yaml"
    file.write_text(
        "flowsim: 1\nname: fails\nsources:\n  one: {collection: {fields: {n: long}, rows: [[1]]}}\n"
        "  two: {collection: {fields: {n: long}, rows: [[0]]}}\n"
        "operators:\n  both: {input: [one, two], map: {select: {m: 1 // n}}}\nsinks:\n  out: {input: both, collect: {}}\n"
    )
    state = game_of(file, tmp_path).finish()
    assert state["ended"]["status"] == "failed"
    assert "both" in state["ended"]["cause"]
    assert state["puzzle"] is None


def test_recording_of_a_position_ends_at_the_choice(tmp_path: Path) -> None:
    game = game_of_puzzle("fourth_result", tmp_path)
    game.state()
    recording = game.recording(())
    assert recording.manifest.status is RunStatus.CANCELED
    events = recording.table("lifecycle").column("event").to_pylist()
    game.finish()
    assert game.recording(game.choices).manifest.status is RunStatus.COMPLETE
    assert len(events) < len(game.recording(game.choices).table("lifecycle").column("event").to_pylist())
    assert 12 not in events, "no task is canceled"


ENDLESS = """\
flowsim: 1
name: endless
settings: {until: 1000 h}
sources:
  ticks: {generator: {count: 30000, pace: 1 s, fields: {n: {sequence: {}}}}}
operators: {both: {input: ticks, map: {select: {n: n}}, chaining: never}}
sinks: {out: {input: both, collect: {}}}
"""


def test_run_of_too_many_steps_is_refused(tmp_path: Path) -> None:
    (tmp_path / "endless.yaml").write_text(ENDLESS)
    with pytest.raises(BadInput, match="the run has more than 2,000 steps"):
        game_of(tmp_path / "endless.yaml", tmp_path).finish()


def test_long_lists_are_shortened(tmp_path: Path) -> None:
    (tmp_path / "long.yaml").write_text(
        "flowsim: 1\nname: long\nsources:\n"
        f"  one: {{collection: {{fields: {{n: long}}, rows: {[[n] for n in range(20)]}}}}}\n"
        "  two: {collection: {fields: {n: long}, rows: [[0]]}}\n"
        "operators: {both: {input: [one, two], map: {select: {n: n}}}}\nsinks: {out: {input: both, collect: {}}}\n"
    )
    game = game_of(tmp_path / "long.yaml", tmp_path)
    assert game.state()["channels"][0]["waiting"][-2:] == ["record [11]", "and 11 more"]
    assert game.finish()["sinks"] == [{"name": "out", "rows": ["9 before", *(f"[{n}]" for n in range(9, 20)), "[0]"]}]


@pytest.mark.parametrize(
    ("move", "message"),
    [
        (lambda game: game.choose(1, 0), "0 choices were made, not 1"),
        (lambda game: game.choose(0, 2), "there is no option 2, there are 2"),
        (lambda game: game.choose(0, -1), "there is no option -1, there are 2"),
        (lambda game: game.back_to(1), "0 choices were made, not 1"),
        (lambda game: game.recording((7,)), "the game was never at this position"),
    ],
)
def test_move_that_is_not_possible_is_refused_and_changes_nothing(tmp_path: Path, move: Any, message: str) -> None:
    game = game_of_puzzle("fourth_result", tmp_path)
    before = game.state()
    with pytest.raises(BadInput, match=message):
        move(game)
    assert game.state() == before
