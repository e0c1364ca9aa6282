"""Variants of known attempts; the table at the end of docs/security.md says what each one tries."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ralphy.adapters import settings
from ralphy.adapters.git_programs import in_environment, in_the_tree
from tests.engine.building import build, story, works
from tests.sandbox.inside import Box, boxed, place_in
from tests.sandbox.test_submodules import looked_at, meddles, with_submodule

EVIL = "printf '#!/bin/sh\\ntouch %s\\ncat\\n' \"$1\" > evil.log; "
STEERS = "printf '[core]\\nfsmonitor = sh %s/evil.log\\n[filter \"x\"]\\nclean = sh %s/evil.log\\n' $PWD $PWD"


@pytest.mark.attempt(74)
def test_programs_of_the_tree_are_known_by_a_shells_words(tmp_path: Path) -> None:
    home = tmp_path / "home"
    root = home / "work" / "repo"
    (root / "tools").mkdir(parents=True)
    (root / "tools" / "f.sh").write_text("cat\n")
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home)}
    inside = ["~/work/repo/tools/f.sh", "$HOME/work/repo/tools/f.sh", "sh ../repo/tools/f.sh", "sh <tools/f.sh",
              "cat|tools/f.sh", "sh -c 'cd tools && ./f.sh; cat'", "LANG=C tools/f.sh;cat", "sh -c \"$PWD/tools/f.sh\"",
              "sh -c 'cat; sh tools/f.sh'", "sh $(git rev-parse --show-toplevel)/tools/f.sh", "`pwd`/tools/f.sh",
              "${HOME}/work/repo/tools/f.sh", "env X=1 tools/f.sh"]  # fmt: skip
    missed = [c for c in inside if not in_the_tree(f"filter.x.clean\n{c}\0".encode(), root, env)]
    assert missed == []
    outside = ["~/bin/f.sh", "../other/f.sh", "sh -c 'sed s/x/./g; cat'", "$HOME/work/repo2/f.sh"]
    assert not [c for c in outside if in_the_tree(f"filter.x.clean\n{c}\0".encode(), root, env)]
    named = {"GIT_SSH_COMMAND": "ssh -F x", "GIT_ASKPASS": "tools/f.sh", "GIT_EXEC_PATH": f"{root}/libexec"}
    assert set(in_environment(root, {**env, **named})) == {"GIT_ASKPASS", "GIT_EXEC_PATH"}
    helper = b"credential.helper\n!f() { tools/f.sh get; }; f\0"
    assert in_the_tree(helper, root, env)


@pytest.mark.attempt(77)
@pytest.mark.parametrize("how", ["file", "link", "ident", "folder link"])
def test_settings_that_came_with_a_repository_are_known_however_they_are_stored(tmp_path: Path, how: str) -> None:
    theirs = build(tmp_path / "theirs", story("US-001"))
    repo = theirs.repo
    theirs.configure(agent={"command": ["sh", "-c", "evil # $Id$"]})
    if how == "link":
        (repo / "x.yaml").write_text((repo / ".ralphy" / "config.yaml").read_text())
        (repo / ".ralphy" / "config.yaml").unlink()
        (repo / ".ralphy" / "config.yaml").symlink_to("../x.yaml")
    if how == "ident":
        (repo / ".gitattributes").write_text("config.yaml ident\n")
    if how == "folder link":
        (repo / ".ralphy").rename(repo / "elsewhere")
        (repo / ".ralphy").symlink_to("elsewhere")
    theirs.git("add", "--all")
    theirs.git("commit", "--quiet", "--allow-empty", "-m", "feat: harmless")
    theirs.git("clone", "--quiet", str(repo), str(tmp_path / "mine"))
    mine = replace(theirs, repo=tmp_path / "mine")

    found = settings.load(mine.repo, None, env=mine.env)

    assert found.config.agent.command == ("claude",)
    assert "agent.command" in found.untrusted
