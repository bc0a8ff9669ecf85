"""Shell completion: what bash, zsh and fish get when they ask for the next word."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from flowsim.cli.main import CommandGroup, app
from flowsim.laws.law_ids import LAW_IDS
from flowsim.why.questions import QUESTIONS


def asked(**variables: str) -> str:
    """The output of ``flowsim`` when a shell asks it with these environment variables."""
    result = CliRunner().invoke(app, [], prog_name="flowsim", env=variables)
    assert result.exit_code == 0, result.output
    return result.stdout


def bash(line: str) -> list[str]:
    """The words that bash offers for the last word of a line."""
    words = line.split(" ")
    answer = asked(_FLOWSIM_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1))
    return answer.split()


def test_bash_completes_names_of_commands() -> None:
    assert bash("flowsim ") == list(CommandGroup().commands)
    assert bash("flowsim r") == ["run", "replay", "report", "rules"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("flowsim run --pol", ["--policy"]),
        ("flowsim run --policy ", ["fifo", "random"]),
        ("flowsim trace out --detail o", ["overview"]),
        ("flowsim export out --p", ["--perfetto"]),
        ("flowsim graph g.yaml --format d", ["dot"]),
        ("flowsim metrics out --format o", ["openmetrics"]),
        ("flowsim checkpoints out --e", ["--entries"]),
        ("flowsim laws", []),
        ("flowsim learn 06", ["06_lateness"]),
        ("flowsim laws chan", [law for law in LAW_IDS if law.startswith("chan")]),
        ("flowsim validate out --law chan", [law for law in LAW_IDS if law.startswith("chan")]),
        ("flowsim why out ", list(QUESTIONS)),
        ("flowsim rules 8.2", ["8.2", "8.20", "8.21", "8.22", "8.23", "8.24"]),
        ("flowsim rules 8.B", ["8.B"]),
        ("flowsim scenarios 11", ["11a_silent_partition", "11b_silent_partition_idle"]),
    ],
)
def test_bash_completes_options_and_values(line: str, words: list[str]) -> None:
    found = bash(line)
    assert found == (words if words else ["laws"])


def test_bash_completes_files_itself_where_a_command_needs_a_file() -> None:
    assert bash("flowsim run scen") == []
    assert "complete -o default" in asked(_FLOWSIM_COMPLETE="source_bash")


def test_zsh_and_fish_get_commands_with_their_summaries() -> None:
    words = {"_TYPER_COMPLETE_ARGS": "flowsim sch"}
    assert '"schema":"Print the JSON Schema of' in asked(_FLOWSIM_COMPLETE="complete_zsh", **words)
    fish = asked(_FLOWSIM_COMPLETE="complete_fish", _TYPER_COMPLETE_FISH_ACTION="get-args", **words)
    assert fish.startswith("schema\tPrint the JSON Schema of")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_of_a_shell_asks_flowsim(shell: str) -> None:
    script = asked(_FLOWSIM_COMPLETE=f"source_{shell}")
    assert f"_FLOWSIM_COMPLETE=complete_{shell}" in script


def test_help_lists_the_options_that_install_completion() -> None:
    text = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).stdout
    assert "--install-completion" in text
    assert "--show-completion" in text
