"""help, version and completion, and where the result of a run goes."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from click.shell_completion import BashComplete

from ralphy import __version__
from ralphy.cli.main import cli, main
from ralphy.cli.output import Output
from ralphy.errors import EXIT_MEANINGS
from tests.cli.conftest import Make
from tests.engine.building import ROOT, story


def test_without_a_terminal_the_bare_word_prints_the_help_and_is_no_error(capfd: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    said = capfd.readouterr()
    assert said.out.startswith("Usage: ralphy") and said.err == ""


TOLD = {"help": "Usage: ralphy [OPTIONS] COMMAND", "help loop": "ralphy loop", "help story add": "ralphy story add",
        "version": f"ralphy {__version__}"}  # fmt: skip


def test_what_ralphy_says_of_itself(capfd: pytest.CaptureFixture[str]) -> None:
    for words, told in TOLD.items():
        assert main(words.split()) == 0
        assert told in capfd.readouterr().out.splitlines()[0]
    for shell in ("bash", "zsh", "fish"):
        assert main(["completion", shell]) == 0
        assert f"_RALPHY_COMPLETE={shell}_complete" in capfd.readouterr().out
    for word, meant in (("stories", "did you mean story?"), ("gate", "ralphy approve, or ralphy reject")):
        assert main(["help", word]) == 2
        said = capfd.readouterr().err
        assert f"no command {word!r}" in said and meant in said


def test_help_names_every_exit_code(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    codes = capfd.readouterr().out.partition("Exit codes: ")[2]
    assert [int(number) for number in re.findall(r"\d+", codes)] == list(EXIT_MEANINGS)


OFFERED = {
    "ralphy st": ["start", "status", "state", "stats", "story"], "ralphy story re": ["reset"],
    "ralphy status lo": ["login"], "ralphy story show US": ["US-001"],
    "ralphy config get limits.max_a": ["limits.max_attempts"], "ralphy loop --max-i": ["--max-iterations"],
    "ralphy nonsense x": [],
}  # fmt: skip


def test_a_shell_is_offered_commands_options_and_features(made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    project, _ = made(story("US-001"))
    monkeypatch.chdir(project.repo)
    bash = BashComplete(cli, {}, "ralphy", "_RALPHY_COMPLETE")
    for line, offered in OFFERED.items():
        *words, incomplete = line.split()[1:]
        assert (line, [item.value for item in bash.get_completions(words, incomplete)]) == (line, offered)

    asked = {"_RALPHY_COMPLETE": "bash_complete", "COMP_WORDS": "ralphy st", "COMP_CWORD": "1"}
    done = subprocess.run([sys.executable, "-P", "-c", "import sys; sys.argv[0] = 'ralphy'; "
                           "from ralphy.__main__ import main; main()"],
                          cwd=project.repo, env={**project.env, **asked, "PYTHONPATH": str(ROOT)},
                          capture_output=True, encoding="utf-8", check=True)  # fmt: skip
    assert [row.partition(",")[2] for row in done.stdout.splitlines()] == OFFERED["ralphy st"]
    assert done.stderr == ""


def test_a_long_line_is_broken_between_words_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = os.openpty()
    monkeypatch.setenv("COLUMNS", "40")
    with open(slave, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        Output(color="never").say("verified and committed US-001 after " + "several words " * 5)
    rows = os.read(master, 4096).decode().splitlines()
    os.close(master)
    assert len(rows) > 2 and all(len(row) <= 40 for row in rows)
    assert all(row.startswith(" " * 11) for row in rows[1:])
    assert " ".join(" ".join(rows).split()).endswith("several words")


def test_markdown_is_drawn_on_a_terminal_and_else_as_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "## What landed\n\n| Story | Cost |\n|---|---:|\n| US-001 `add` | $0.02 |\n"
    Output(color="never").document(text)
    assert capsys.readouterr().out == text
    master, slave = os.openpty()
    monkeypatch.setenv("COLUMNS", "60")
    with open(slave, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        Output(color="never").document(text)
    drawn = os.read(master, 4096).decode()
    os.close(master)
    assert "What landed" in drawn and "US-001 add" in drawn and "$0.02" in drawn
    assert not {"|", "#", "`"} & set(drawn)
