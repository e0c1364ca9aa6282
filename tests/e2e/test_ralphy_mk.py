"""The Make targets that `ralphy init` brings, run by the real make with a stand-in for `ralphy`."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from ralphy.resources import template_root

# Notes its arguments, writes what it is told to write, and ends with the code it is told to end with.
STAND_IN = """\
#!/bin/sh
printf '%s\\0' "$@" '' >> "$CALLS"
test -z "$WRITES" || printf made > "$WRITES"
test -z "$INTERRUPTED" || kill -INT 0  # as Ctrl-C does: the whole process group
exit "${CODE:-0}"
"""


@dataclass(frozen=True, slots=True)
class Repository:
    """A folder with the include and nothing else."""

    root: Path

    def make(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        env = {
            "PATH": f"{self.root / 'bin'}:{os.environ['PATH']}",
            "CALLS": str(self.root / "calls"),
            "LC_ALL": "C",
            **environment,
        }
        return subprocess.run(
            ["make", *arguments],
            cwd=self.root,
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            start_new_session=True,
        )

    def calls(self) -> list[list[str]]:
        path = self.root / "calls"
        noted = path.read_text() if path.exists() else ""  # an empty word ends a call
        return [call.split("\0") for call in noted.split("\0\0")[:-1]]

    def write(self, path: str, text: str = "x") -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path)
    repository.write("bin/ralphy", STAND_IN).chmod(0o755)
    repository.write(".ralphy/ralphy.mk", (template_root() / "ralphy.mk").read_text(encoding="utf-8"))
    repository.write("Makefile", "-include .ralphy/ralphy.mk\n")
    return repository


def test_targets_run_ralphy_with_the_feature_or_leave_the_choice_to_it(repo: Repository) -> None:
    done = repo.make("loop", "FEATURE=login")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert repo.make("loop").returncode == 0
    assert repo.calls() == [["loop", "login"], ["loop"]]
    for target in ("status", "approve", "reject", "watch", "why"):
        assert repo.make(target, "FEATURE=login").returncode == 0
        assert repo.make(target, CODE="3").returncode == 2
        assert repo.calls()[-2:] == [[target, "login"], [target]]
    repo.make("reject", "FEATURE=login", 'MESSAGE=it\'s too large; split $(no) `this`, "please"')
    assert repo.calls()[-1] == ["reject", "login", "-m", 'it\'s too large; split $(no) `this`, "please"']
    for name in ("a b", "it's", "$(touch x)", "a;touch x", "a,b", '"q"', "*", "a#b"):
        repo.make("loop", f"FEATURE={name}")
        assert repo.calls()[-1] == ["loop", name]
    assert not (repo.root / "x").exists()


def test_make_n_prints_the_command_and_runs_nothing(repo: Repository) -> None:
    prd = repo.write("docs/features/login/PRD.md")
    done = repo.make("-n", "loop", prd.with_name("SPEC.md").relative_to(repo.root).as_posix(), "FEATURE=login")
    assert done.returncode == 0
    assert "ralphy loop 'login' ||" in done.stdout and "ralphy loop 'login' --to spec" in done.stdout
    assert repo.calls() == []


def codes_shown(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The exit codes of commands that make shows, each at the end of a line."""
    return re.findall(r" (\d+)$", done.stderr, re.M)


def test_waiting_for_a_person_is_no_failure_and_its_hints_name_the_feature_that_was_meant(repo: Repository) -> None:
    done = repo.make("loop", "FEATURE=csv", CODE="10")
    assert done.returncode == 0
    assert "waiting for a person" in done.stderr
    assert re.findall(r"`(make [^`]*)`", done.stderr) == [
        "make why FEATURE=csv", "make approve FEATURE=csv", 'make reject FEATURE=csv MESSAGE="what should change"',
    ]  # fmt: skip
    said = repo.make("loop", CODE="10").stderr  # of all features: `why` names each, and what to type for it
    assert re.findall(r"`(make [^`]*)`", said) == ["make why"]


def test_in_a_new_terminal_it_says_how_to_put_ralphy_on_path(repo: Repository) -> None:
    repo.write("docs/features/login/PRD.md")
    for target in ("loop", "status", "reject", "docs/features/login/SPEC.md"):
        done = repo.make(target, "RALPHY=ralphy-of-nobody")
        assert done.returncode == 2 and codes_shown(done) == ["127"]
        assert "ralphy-of-nobody is not on PATH in this terminal: activate the environment" in done.stderr
        assert "pipx install ." in done.stderr


def test_waiting_fails_when_strictness_is_wanted_and_every_other_code_fails_and_is_shown(repo: Repository) -> None:
    for done in (repo.make("loop", CODE="10", RALPHY_STRICT_EXIT="1"),
                 repo.make("loop", "RALPHY_STRICT_EXIT=1", CODE="10")):  # fmt: skip
        assert done.returncode == 2
        assert "waiting for a person" in done.stderr and codes_shown(done) == ["10"]
    assert repo.make("loop", CODE="10", RALPHY_STRICT_EXIT="0").returncode == 0
    for code in ("1", "3", "11", "130"):
        done = repo.make("loop", CODE=code)
        assert done.returncode == 2
        assert codes_shown(done) == [code] and "waiting" not in done.stderr


def test_the_specification_is_a_target(repo: Repository) -> None:
    spec = repo.write("docs/features/login/PRD.md").with_name("SPEC.md")
    for code, strict in (("0", ""), ("0", "1"), ("10", ""), ("10", "1")):
        spec.unlink(missing_ok=True)
        done = repo.make("docs/features/login/SPEC.md", WRITES=str(spec), CODE=code, RALPHY_STRICT_EXIT=strict)
        assert done.returncode == 0, done.stderr
        assert spec.read_text() == "made"
        assert repo.calls()[-1] == ["loop", "login", "--to", "spec"]
        spec.unlink()
        done = repo.make("docs/features/login/SPEC.md", CODE=code)
        assert done.returncode == 2
        assert "docs/features/login/SPEC.md is not there yet: `ralphy why login`" in done.stderr


def test_a_specification_is_made_where_requirements_are_newer_and_the_report_is_always_asked_for(
    repo: Repository,
) -> None:
    assert repo.make("docs/features/nope/SPEC.md").returncode == 2  # without requirements there is no rule
    prd = repo.write("docs/features/login/PRD.md")
    spec = repo.write("docs/features/login/SPEC.md")
    os.utime(prd, (1, 1))
    assert (repo.make("docs/features/login/SPEC.md").returncode, repo.calls()) == (0, [])
    os.utime(spec, (0, 0))
    assert repo.make("docs/features/login/SPEC.md").returncode == 0
    assert len(repo.calls()) == 1
    report = repo.write("docs/features/login/QA_REPORT.md")
    os.utime(report, (2**31, 2**31))
    assert repo.make("docs/features/login/QA_REPORT.md", CODE="10").returncode == 0
    assert repo.calls()[1:] == [["loop", "login", "--to", "qa"]]


@pytest.mark.parametrize("file", ["SPEC.md", "QA_REPORT.md"])
def test_a_rule_that_fails_or_is_interrupted_leaves_its_file_alone(file: str, repo: Repository) -> None:
    repo.write("docs/features/login/PRD.md")
    path = repo.root / "docs/features/login" / file
    done = repo.make(f"docs/features/login/{file}", WRITES=str(path), INTERRUPTED="1")
    assert done.returncode != 0 and path.read_text() == "made"
    path.unlink()
    repo.write("Makefile", ".DELETE_ON_ERROR:\n-include .ralphy/ralphy.mk\n")
    done = repo.make(f"docs/features/login/{file}", WRITES=str(path), CODE="11")
    assert done.returncode == 2 and codes_shown(done) == ["11"]
    assert path.read_text() == "made"


def test_the_default_goal_stays_the_persons_and_any_makefile_can_include_it(repo: Repository) -> None:
    assert (repo.make().returncode, repo.calls()) == (2, [])  # the include alone has none
    for makefile in (
        "mine: ; @echo mine\n-include .ralphy/ralphy.mk\n",
        "-include .ralphy/ralphy.mk\nmine: ; @echo mine\n",
    ):
        repo.write("Makefile", makefile)
        assert repo.make().stdout == "mine\n"
    assert repo.calls() == []
    repo.write("Makefile", ".RECIPEPREFIX = >\n.ONESHELL:\nmine:\n>@echo mine\n-include .ralphy/ralphy.mk\n")
    assert repo.make("mine").stdout == "mine\n"
    assert repo.make("loop", CODE="10").returncode == 0
    assert repo.calls() == [["loop"]]


def test_targets_can_be_left_out(repo: Repository) -> None:
    repo.write("Makefile", "status: ; @echo mine\nRALPHY_TARGETS := loop why\n-include .ralphy/ralphy.mk\n")
    assert (repo.make("status").stdout, repo.make("status").stderr) == ("mine\n", "")
    assert repo.make("why").returncode == 0
    assert repo.make("approve").returncode == 2
    assert repo.calls() == [["why"]]


def test_the_features_may_lie_elsewhere_and_the_command_be_another(repo: Repository) -> None:
    repo.write("bin/other", STAND_IN).chmod(0o755)
    repo.write("specs/login/PRD.md")
    path = repo.root / "specs/login/SPEC.md"
    done = repo.make("specs/login/SPEC.md", "FEATURES_DIR=specs", "RALPHY=other -q", WRITES=str(path))
    assert done.returncode == 0, done.stderr
    assert repo.calls() == [["-q", "loop", "login", "--to", "spec"]]


def test_nothing_in_it_is_undefined_or_needs_a_newer_make_and_help_lists_the_targets(repo: Repository) -> None:
    done = repo.make("--warn-undefined-variables", "-n", "loop", "reject", "status", "ralphy-help")
    assert done.stderr == ""
    text = (repo.root / ".ralphy/ralphy.mk").read_text(encoding="utf-8")
    newer = ("!=", "::=", ".ONESHELL", "$(file", "undefine ", "private ", "endef")  # than 3.81
    assert not any(word in text for word in newer)
    said = repo.make("ralphy-help").stdout
    assert "loop status approve reject watch why prove" in said and "docs/features/name/SPEC.md" in said
