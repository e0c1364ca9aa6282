"""ralph.sh and prompt.md that `ralphy ralph-sh` writes: run by bash in a real repository, without Ralphy."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ralphy.cli.main import main
from ralphy.config.values import Check
from ralphy.scaffold.ralph_script import ralph_files
from tests.conftest import RunGit

needs_jq = pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
# Does what the story's title says, and notes what it was told.
CLAUDE = r"""#!/usr/bin/env bash
prompt=$(cat); printf '%s\n' "$prompt" >> "$(dirname "$0")/prompts"
id=$(printf '%s' "$prompt" | grep -o '"id": "[^"]*"' | head -1 | cut -d'"' -f4)
case $prompt in
  *'"title": "Breaks"'*) echo BROKEN > "src-$id.txt" ;;
  *'"title": "Idles"'*) : ;;
  *) echo works > "src-$id.txt"; git add -A; git commit -qm "mine"; echo '{}' > tools/prd.json ;;
esac
printf -- '---RALPH_STATUS---\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---\n'
"""


def a_story(story_id: str, title: str = "Works", *after: str, **fields: Any) -> dict[str, Any]:
    return {"id": story_id, "title": title, "priority": int(story_id[-1]), "dependsOn": list(after), **fields}


@pytest.fixture
def repo(git_repo: Path, git: RunGit) -> Path:
    """A repository whose check is red while a file holds BROKEN, with ralph.sh as Ralphy writes it."""
    (git_repo / ".ralphy").mkdir()
    check = [{"name": "test", "run": "sh -c '! grep -l BROKEN src-*.txt'"}]
    (git_repo / ".ralphy" / "config.yaml").write_text(json.dumps({"checks": check}))
    assert main(["-C", str(git_repo), "ralph-sh", "--output", str(git_repo / "tools")]) == 0
    return git_repo


def ralph_sh(repo: Path, tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run it with a stub for claude, and with no ralphy to be found."""
    programs = tmp_path / "bin"
    programs.mkdir(exist_ok=True)
    (programs / "claude").write_text(CLAUDE)
    (programs / "claude").chmod(0o755)
    folders = [folder for folder in os.environ["PATH"].split(":") if not (Path(folder) / "ralphy").exists()]
    path = ":".join([str(programs), *folders])
    assert shutil.which("ralphy", path=path) is None
    return subprocess.run([str(repo / "tools" / "ralph.sh"), *words], cwd=tmp_path, env={**os.environ, "PATH": path},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # fmt: skip


def planned(repo: Path, git: RunGit, stories: Sequence[dict[str, Any]]) -> None:
    (repo / "tools" / "prd.json").write_text(json.dumps({"userStories": stories}))
    git("add", "--all")
    git("commit", "--quiet", "--message", "chore: ralph.sh")


def statuses(repo: Path) -> dict[str, str]:
    found = json.loads((repo / "tools" / "prd.json").read_text())["userStories"]
    return {story["id"]: story.get("status", "pending") for story in found}


@needs_jq
def test_it_does_each_story_in_its_order_keeps_what_failed_and_says_what_is_left(
    repo: Path, git: RunGit, tmp_path: Path
) -> None:
    planned(repo, git, [a_story("US-003", "Works", "US-002"), a_story("US-001", "Breaks"), a_story("US-002"),
                        a_story("US-004", "Idles"), a_story("US-005", "Works", "US-001")])  # fmt: skip
    done = ralph_sh(repo, tmp_path)
    assert done.returncode == 11, done.stderr
    assert statuses(repo) == {"US-001": "failed", "US-002": "completed", "US-003": "completed", "US-004": "failed",
                              "US-005": "pending"}  # fmt: skip
    subjects = git("log", "--format=%s").splitlines()
    assert [line for line in subjects if line.startswith("feat: ")] == ["feat: US-003 Works", "feat: US-002 Works"]
    assert "mine" not in subjects and git("status", "--porcelain") == ""
    assert git("stash", "list").count("US-001 attempt") == 3
    told = (tmp_path / "bin" / "prompts").read_text()
    assert "## TO CUSTOMISE: house rules" in told and "US-001 pending" in told
    assert "src-US-001.txt" in (repo / "tools" / "progress.txt").read_text()


@needs_jq
def test_it_ends_at_the_limit_goes_on_and_completes(repo: Path, git: RunGit, tmp_path: Path) -> None:
    planned(repo, git, [a_story("US-001"), a_story("US-002")])
    assert ralph_sh(repo, tmp_path, "1").returncode == 13
    (repo / "mine.txt").write_text("uncommitted")
    assert ralph_sh(repo, tmp_path).returncode == 4
    (repo / "mine.txt").unlink()
    last = ralph_sh(repo, tmp_path)
    assert last.returncode == 0 and "COMPLETE" in last.stderr
    assert ralph_sh(repo, tmp_path, "x").returncode == 3
    (repo / "tools" / "prd.json").unlink()
    assert "ralphy decompose" in ralph_sh(repo, tmp_path).stderr


def test_what_was_customised_is_kept(repo: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (repo / "tools" / "prompt.md").write_text("mine")
    assert main(["-C", str(repo), "ralph-sh", "-o", str(repo / "tools")]) == 0
    assert (repo / "tools" / "prompt.md").read_text() == "mine"
    assert "kept" in capfd.readouterr().out


@pytest.mark.parametrize("checks", [(), (Check("test", "npm test -- 'a b'"), Check("lint", "vendor/bin/phpstan"))])
def test_they_are_made_for_the_stack_and_pass_shellcheck(checks: tuple[Check, ...], tmp_path: Path) -> None:
    files = ralph_files(name="shop", language="php", framework="laravel", package_manager="composer", checks=checks)
    script, prompt = files["ralph.sh"], files["prompt.md"]
    assert prompt.count("## TO CUSTOMISE") == 2 and "- Language: php, with laravel" in prompt
    assert all(f"`{check.run}`" in prompt for check in checks) and "{{" not in prompt + script
    assert ("No check was found" in script) == (not checks)
    (tmp_path / "ralph.sh").write_text(script)
    assert subprocess.run(["bash", "-n", str(tmp_path / "ralph.sh")], check=False).returncode == 0
    if shellcheck := shutil.which("shellcheck"):
        done = subprocess.run([shellcheck, str(tmp_path / "ralph.sh")], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
