"""`ralphy demo`: the whole pipeline in one command, with nothing but the stand-in agent."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ralphy.demo.toy import BRANCH, lay_out
from tests.conftest import program

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Shown:
    """A demonstration that was run: its exit code, and what it said."""

    code: int
    out: str
    err: str


def demo(cwd: Path, *options: str, **environment: str) -> Shown:
    done = subprocess.run(
        [sys.executable, "-m", "ralphy", "demo", *options],
        cwd=cwd, env={**os.environ, "PYTHONPATH": str(ROOT), **environment}, stdin=subprocess.DEVNULL,
        capture_output=True, encoding="utf-8", check=False, timeout=300,
    )  # fmt: skip
    return Shown(done.returncode, done.stdout, done.stderr)


def git(repository: Path, *args: str) -> str:
    done = subprocess.run(["git", *args], cwd=repository, capture_output=True, text=True, check=True)
    return done.stdout.rstrip("\n")


def test_it_ends_well_with_one_story_healed_and_the_branch_at_the_remote(tmp_path: Path) -> None:
    """In surroundings that must have no say in it: a bad git and Ralphy configuration."""
    home, shop = tmp_path / "person", tmp_path / "toy" / "shop"
    (home / ".config" / "ralphy").mkdir(parents=True)
    (home / ".config" / "ralphy" / "config.yaml").write_text("gates: {spec: auto, qa: auto}\n", encoding="utf-8")
    (home / ".gitconfig").write_text("[commit]\n\tgpgSign = true\n[init]\n\tdefaultBranch = trunk\n", encoding="utf-8")

    shown = demo(tmp_path, "--folder", "toy", HOME=str(home), RALPHY_LIMITS_MAX_ATTEMPTS="1")

    assert shown.code == 0, shown.err
    assert "$ git log --oneline ralph/receipts" in shown.out
    rows = [line.split() for line in shown.out.splitlines() if line.startswith("US-")]
    assert [row[:5] for row in rows] == [
        ["US-001", "completed", "1", "$0.04", "test"],
        ["US-002", "completed", "2", "$0.08", "test"],
        ["US-003", "completed", "2", "$0.08", "test"],
    ]
    assert f"cd {tmp_path / 'toy' / 'shop'}" in shown.out
    assert_healed(shown, shop)
    assert shown.err.count("$ touch docs/features/receipts/APPROVED") == 2
    assert shown.err.count("is approved (APPROVED)") == 2
    assert git(shop, "status", "--porcelain") == ""
    assert git(tmp_path / "toy" / "remote.git", "rev-parse", BRANCH) == git(shop, "rev-parse", BRANCH)
    assert git(tmp_path / "toy" / "remote.git", "log", "--format=%s", "main") == "feat: a shop with a basket"
    assert set(git(shop, "log", "--format=%an %cn", BRANCH).splitlines()) == {"Ralphy Demo Ralphy Demo"}
    git(shop, "worktree", "add", "--quiet", "--detach", str(tmp_path / "code"), BRANCH)
    said = subprocess.run(
        [sys.executable, "-c", "import basket, receipt; print(receipt.render([basket.Item('bread', 299)], 10))"],
        cwd=tmp_path / "code", capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert [line.split()[-1] for line in said.stdout.splitlines()] == ["2.99", "-0.30", "2.69"]


def assert_healed(shown: Shown, shop: Path) -> None:
    """One story was healed, its failed attempt is kept under a ref, and one was refused for having done nothing."""
    assert "US-003 attempt 1 rejected: nothing changed" in shown.err
    assert ": fixing the last attempt" in shown.err
    progress = shop / "docs" / "features" / "receipts" / "progress.txt"
    assert "test_what_is_taken_off_is_rounded_half_up" in progress.read_text(encoding="utf-8")
    assert "git show refs/ralphy/receipts/US-002/attempt-1" in shown.out
    assert "+ 50" not in git(shop, "show", "refs/ralphy/receipts/US-002/attempt-1:discount.py")


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    shown = demo(tmp_path, "--folder", ".")
    assert shown.code == 4
    assert "already exists" in shown.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_without_claude_on_path_the_real_one_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    git_only = tmp_path / "bin"
    git_only.mkdir()
    shown = demo(tmp_path, "--agent", "claude", "--folder", "toy", PATH=str(git_only))
    assert shown.code == 5
    assert "claude is not on PATH" in shown.err
    assert not (tmp_path / "toy").exists()


def test_no_keep_leaves_nothing_behind(tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    bad = tmp_path / "bin"
    program(bad / "git", "echo no >&2\nexit 1")
    shown = demo(tmp_path, "--no-keep", TMPDIR=str(temporary), PATH=str(bad))
    assert shown.code == 5
    assert list(temporary.iterdir()) == []


def test_the_toy_with_the_real_agent_has_a_budget_and_no_scenario(tmp_path: Path) -> None:
    toy = lay_out(tmp_path / "toy", "claude", os.environ)
    settings = (toy.repository / ".ralphy" / "config.yaml").read_text(encoding="utf-8")
    assert '"max_cost_usd": 10' in settings
    assert "ralphy.rehearsal" not in settings
    assert not (toy.repository / ".ralphy" / "rehearsal.yaml").exists()
    assert toy.env["HOME"] == os.environ["HOME"]
