"""The probe finds checks that do not look at the lane, and checks that check nothing: with a real editable install."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from ralphy.git.commands import discover
from ralphy.git.objects import Objects
from ralphy.lanes.probe import (
    ProbeVerdict,
    cache_key,
    judged,
    probed,
    remember,
    remembered,
    runs_tests,
    spoiled_files,
    spoiled_tree,
)
from tests.conftest import RunGit, why_no_sandbox

TEST = """\
import unittest

from shop import total


class Total(unittest.TestCase):
    def test_total(self) -> None:
        self.assertEqual(total([1, 2]), 3)
"""
FILES = {
    "src/shop/__init__.py": "def total(prices):\n    return sum(prices)\n",
    "tests/__init__.py": "", "tests/test_shop.py": TEST,
    "pyproject.toml": "[project]\nname = 'shop'\nversion = '1'\n", "README.md": "# Shop\n", ".gitignore": ".venv\n",
}  # fmt: skip
TESTS, DOCS = "test", "docs"


@pytest.fixture
def checkout(tmp_path: Path, git: RunGit) -> Path:
    """A project with sources in src/, installed in its own .venv so that edits show at once."""
    root = tmp_path / "shop"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    git("init", "--quiet", cwd=root)
    git("add", "--all", cwd=root)
    git("commit", "--quiet", "--message", "chore: begin", cwd=root)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", root / ".venv"], check=True)
    packages = next((root / ".venv" / "lib").glob("python*")) / "site-packages"
    (packages / "__editable__.shop-1.pth").write_text(f"{root / 'src'}\n", encoding="utf-8")
    return root


@pytest.fixture
def objects(checkout: Path) -> Objects:
    return Objects(discover(checkout))


def laid_out(checkout: Path, lane: Path, tree: str) -> None:
    """The lane's files are exactly those of the tree."""
    shutil.rmtree(lane, ignore_errors=True)
    lane.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", tree], cwd=checkout, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x"], cwd=lane, input=archive, check=True)


def runner(checkout: Path, lane: Path, around: Sequence[str] = ()) -> Callable[[str], list[str]]:
    """Runs the tests and a check of the documents in the lane, with the checkout's Python."""

    def run(tree: str) -> list[str]:
        laid_out(checkout, lane, tree)
        (lane / ".venv").mkdir()
        commands: Mapping[str, list[str]] = {
            TESTS: [str(checkout / ".venv" / "bin" / "python"), "-B", "-m", "unittest", "-q"],
            DOCS: ["test", "-s", "README.md"],
        }
        return [name for name, words in commands.items()
                if not subprocess.run([*around, *words], cwd=checkout if around else lane,
                                      capture_output=True, check=False).returncode]  # fmt: skip

    return run


COMMANDS = {TESTS: "python -m unittest", DOCS: "test -s README.md"}


def a_probe(objects: Objects, run: Callable[[str], list[str]], *, is_mounted: bool) -> ProbeVerdict:
    tree = objects.tree_of("HEAD")
    return probed(objects, tree, {TESTS: COMMANDS[TESTS], DOCS: "markdownlint README.md"}, run(tree), run,
                  is_mounted=is_mounted)  # fmt: skip


def test_an_editable_install_beside_the_lane_is_found(checkout: Path, objects: Objects, tmp_path: Path) -> None:
    verdict = a_probe(objects, runner(checkout, tmp_path / "lane"), is_mounted=False)
    assert verdict.problem == "checks do not look at the lane: test passes on broken code"
    assert "bubblewrap" in verdict.hint
    assert "setup:" in verdict.hint


def test_an_install_in_the_lane_looks_at_it(checkout: Path, objects: Objects, tmp_path: Path) -> None:
    packages = next((checkout / ".venv" / "lib").glob("python*")) / "site-packages"
    (packages / "__editable__.shop-1.pth").write_text(f"{tmp_path / 'lane' / 'src'}\n", encoding="utf-8")
    verdict = a_probe(objects, runner(checkout, tmp_path / "lane"), is_mounted=False)
    assert verdict == ProbeVerdict(notes=("the check docs passes on broken code: it checks nothing",))


@pytest.mark.skipif(bool(why_no_sandbox()), reason=why_no_sandbox())
def test_a_lane_at_the_checkouts_path_is_looked_at(checkout: Path, objects: Objects, tmp_path: Path) -> None:
    lane, venv = str(tmp_path / "lane"), str(checkout / ".venv")
    around = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", venv, f"{lane}/.venv", "--bind", lane, str(checkout),
              "--ro-bind", venv, venv, "--chdir", str(checkout)]  # fmt: skip
    verdict = a_probe(objects, runner(checkout, tmp_path / "lane", around), is_mounted=True)
    assert verdict == ProbeVerdict(notes=("the check docs passes on broken code: it checks nothing",))


def test_what_was_red_before_proves_nothing(checkout: Path, objects: Objects, tmp_path: Path) -> None:
    def never(tree: str) -> list[str]:
        raise AssertionError

    verdict = probed(objects, objects.tree_of("HEAD"), COMMANDS, [], never, is_mounted=False)
    assert not verdict.problem
    assert "probe skipped" in verdict.notes[0]


def test_without_a_source_nothing_is_blocked(checkout: Path, objects: Objects, git: RunGit) -> None:
    git("rm", "--quiet", "-r", "src", cwd=checkout)
    git("commit", "--quiet", "--message", "chore: empty", cwd=checkout)
    verdict = probed(objects, objects.tree_of("HEAD"), COMMANDS, [TESTS], lambda _: [], is_mounted=True)
    assert not verdict.problem
    assert "no source file in a language that Ralphy knows" in verdict.notes[0]


def test_only_sources_are_spoiled_and_modes_stay(checkout: Path, objects: Objects, git: RunGit) -> None:
    (checkout / "src" / "shop" / "__init__.py").chmod(0o755)
    git("commit", "--quiet", "--all", "--message", "chore: mode", cwd=checkout)
    tree = objects.tree_of("HEAD")
    spoiled = spoiled_tree(objects, tree, spoiled_files(list(FILES), []))
    changed = git("diff-tree", "-r", "--name-status", tree, spoiled, cwd=checkout)
    assert changed == "M\tsrc/shop/__init__.py"
    assert git("ls-tree", spoiled, "src/shop/__init__.py", cwd=checkout).startswith("100755 ")


@pytest.mark.parametrize(("paths", "expected"), [
    (["a.py", "tests/test_a.py", "conftest.py", "docs/conf.py", "x.md"], ["a.py"]),
    (["src/a.ts", "src/a.test.ts", "vite.config.ts", "scripts/build.js"], ["src/a.ts"]),
    (["lib.rs", "build.rs", "Cargo.toml"], ["lib.rs"]), (["run.sh", "a.c"], ["a.c"]), (["run.sh"], ["run.sh"]),
    (["bin/tool.rb", "Gemfile"], ["bin/tool.rb"]), (["main.xyz", "a.json", "LICENSE"], []),
    (["check.py", "a.py"], ["a.py"]), (["docs/features/x/a.py"], []), (["README.md"], []),
])  # fmt: skip
def test_tests_configuration_and_what_the_checks_call_are_left(paths: list[str], expected: Sequence[str]) -> None:
    assert sorted(spoiled_files(paths, ["python ./check.py --all"], ["docs/features"])) == expected


SAMPLES = {"py": "python3 -m py_compile", "js": "node --check", "sh": "bash -n", "rb": "ruby -c", "pl": "perl -c",
           "c": "cc -fsyntax-only", "php": "php -l", "go": "gofmt -e", "lua": "luac -p"}  # fmt: skip


@pytest.mark.parametrize("ending", [one for one, command in SAMPLES.items() if shutil.which(command.split()[0])])
def test_what_spoils_a_language_cannot_be_parsed_by_it(tmp_path: Path, ending: str) -> None:
    name, data = next(iter(spoiled_files([f"a.{ending}"], []).items()))
    (tmp_path / name).write_bytes(data)
    done = subprocess.run([*SAMPLES[ending].split(), name], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode != 0


def test_a_linter_that_turned_red_does_not_speak_for_the_tests() -> None:
    checks = {"lint": "ruff check .", "test": "pytest -q"}
    verdict = judged(["lint", "test"], ["test"], checks, is_mounted=False)
    assert verdict.problem == "checks do not look at the lane: test passes on broken code"
    verdict = judged(["lint", "test"], ["test"], checks, is_mounted=True)
    assert verdict == ProbeVerdict(notes=("the check test passes on broken code: it checks nothing",))
    assert judged(["lint", "test"], [], checks, is_mounted=False) == ProbeVerdict()


def test_with_a_mount_at_least_one_check_must_turn_red() -> None:
    one = judged(["test"], ["test"], {"test": "true"}, is_mounted=True)
    assert one.problem == "the checks check nothing: test passes on broken code"
    both = judged(["a", "b"], ["a", "b"], {}, is_mounted=True)
    assert both.problem == "the checks check nothing: a and b pass on broken code"


@pytest.mark.parametrize(("name", "command", "expected"), [
    ("test", "make all", True), ("unit", "npm test", True), ("x", "cargo test --all", True), ("x", "make check", True),
    ("lint", "ruff check .", False), ("types", "mypy src", False), ("docs", "markdownlint latest.md", False),
])  # fmt: skip
def test_checks_that_run_tests_are_known(name: str, command: str, expected: bool) -> None:
    assert runs_tests(name, command) is expected


def test_a_verdict_holds_as_long_as_what_steers_the_checks_is_the_same() -> None:
    files = {"a.py": "1", "pyproject.toml": "2", "web/pnpm-lock.yaml": "3", "Makefile": "4"}

    def key(files: Mapping[str, str] = files, *, setup: str = "", is_mounted: bool = True, run: str = "x") -> str:
        return cache_key(files, {"test": run}, setup=setup, is_mounted=is_mounted)

    assert key() == key({**files, "a.py": "5", "b.py": "6"})
    others = [key({**files, path: "9"}) for path in ("pyproject.toml", "web/pnpm-lock.yaml", "Makefile")]
    others += [key(setup="npm ci"), key(is_mounted=False), key(run="y"), key({**files, "b.go": "7"})]
    assert len({key(), *others}) == len(others) + 1


def test_good_verdicts_are_remembered_and_others_tried_again(tmp_path: Path) -> None:
    store = tmp_path / "state" / "probe.json"
    assert remembered(store, "a") is None
    remember(store, "a", ProbeVerdict(notes=("said",)))
    remember(store, "b", ProbeVerdict("a problem"))
    assert remembered(store, "a") == ProbeVerdict(notes=("said",))
    assert remembered(store, "b") is None
    remember(store, "c", ProbeVerdict())
    assert remembered(store, "a") is None
    assert remembered(store, "c") == ProbeVerdict()
    store.write_text('{"for": "c", "notes": 3}', encoding="utf-8")
    assert remembered(store, "c") is None
