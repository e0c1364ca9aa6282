"""Git's configuration as text: what could make git run something is seen however it is written."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ralphy.git.config_text import settings, steering

STEERING = [
    "[core] sshCommand = /tmp/x", "[core]\n\tsshCommand = x", "[CORE]hooksPath=/x", "[core]\n\tfsmonitor=x",
    "[core] # here\n  editor = x", '[core] pager = "x # y"', "[alias] st = !x", "[pager] log = x", "[pager]\n\tlog = x",
    "[init] templateDir = /x", '[difftool "a"] cmd = x', '[mergetool "a"]\n\tcmd = x', "[interactive] diffFilter = x",
    "[sequence] editor = x", '[gpg "ssh"] program = x', '[trailer "a"]\n\tcommand = x', "[include] path = x",
    '[includeIf "gitdir:/"] path = x', '[remote "o"] uploadpack = x', '[remote "o"]\n\tproxy = x', "[core]\n\tautocrlf",
    '[submodule "s"] update = !x', '[url "ext::x"]\n\tinsteadOf = https://', "[credential] helper = !x",
    "[core]\n\tssh\\\nCommand = x", "[user]\n\tname = a\\\nb\n[core] sshCommand = x", "[credential.x] helper = x",
    '[user]\n\tname = a "b\n[core] sshCommand = x', "[user] name=a ; b\n[core] pager = x", "[color] ui\n[core]pager=x",
    "garbage", "\ufeff[core] pager = x",
]  # fmt: skip
HARMLESS = [
    "", "# [core] pager = x\n; y\n", "[user] name = A B", '[user]\n\tname = "A # B"\n\temail = a@b.c # mine\n',
    "[color] ui = auto", '[color "diff"]\n\tmeta = blue', "[advice]\n\tdetachedHead = false", "[pull]\n\trebase",
    "[push] default = current\n[init]\n defaultBranch = main", "[user]\n\tname = a \\\n[core] \\\nb = c\n",
    '[branch "a"]\n\tdescription = pager = x\n',
]  # fmt: skip


@pytest.mark.parametrize("text", STEERING)
def test_what_can_make_git_run_something_is_seen(text: str) -> None:
    assert steering(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_can_do_no_harm_may_change(text: str) -> None:
    assert steering(text) == set()


@pytest.mark.parametrize("text", [*STEERING, *HARMLESS])
def test_what_git_reads_is_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text, encoding="utf-8")

    words = ["git", "config", "--file", str(path), "--no-includes", "--list", "--name-only", "-z"]
    done = subprocess.run(words, capture_output=True, encoding="utf-8", check=False)

    named = {f"{name.split('.')[0]}.{name.rsplit('.', 1)[1]}" for name in done.stdout.split("\0") if "." in name}
    read = {f"{name.split('.')[0]}.{name.rsplit('.', 1)[1]}" for name, _ in settings(text) if "." in name}
    assert named <= read or "" in {name for name, _ in settings(text)}
