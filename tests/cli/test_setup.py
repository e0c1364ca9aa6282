"""init, init-prompts, detect and validate, as a person calls them in a repository that is not ours."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ralphy.errors import ExitCode
from ralphy.resources import example
from tests.cli.conftest import Call, Make
from tests.conftest import RunGit
from tests.engine.building import AGENT, ROOT, story, works

UNITTEST = """\
import unittest
from calc import add


class AddTest(unittest.TestCase):
    def test_two_and_three_make_five(self) -> None:
        self.assertEqual(add(2, 3), 5)
"""
PRD = "# Sign in\n\n## Objective\n\n- A person signs in with a password\n- Three wrong ones lock the account\n"


@pytest.fixture
def foreign(git_repo: Path, git: RunGit) -> Path:
    """A repository whose checks are quick: unittest, where the others have pytest."""
    write(git_repo, "tests/test_calc.py", UNITTEST)
    write(git_repo, "tests/__init__.py", "")
    (git_repo / "conftest.py").unlink()
    git("add", "--all")
    git("commit", "--quiet", "--message", "test: unittest")
    return git_repo


def make(repo: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """make in the repository, with this Ralphy and the rehearsal agent."""
    own = {"PYTHONPATH": str(ROOT), "RALPHY_AGENT_COMMAND": shlex.join(AGENT)}
    return subprocess.run(
        ["make", *words, f"RALPHY={sys.executable} -m ralphy"],
        cwd=repo, env={**os.environ, **own}, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip


def write(repo: Path, name: str, text: str) -> Path:
    path = repo / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_quiet_init_says_only_what_is_missing(foreign: Path, call: Call) -> None:
    assert call("init", "--quiet") == (0, "", "")
    assert (foreign / ".ralphy" / "config.yaml").exists()
    write(foreign, "Makefile", "all:\n")
    assert call("init", "--quiet") == (0, "commit Makefile: it has other uncommitted changes\n", "")


def test_init_says_what_it_would_do_what_it_made_and_what_comes_next_and_again_keeps_everything(
    git_repo: Path, git: RunGit, call: Call
) -> None:
    code, out, _ = call("init", "--dry-run")
    assert code == 0
    assert "would create .ralphy/config.yaml" in out and "would create Makefile" in out
    assert git("status", "--porcelain", "--ignored") == ""
    code, value = call.json("init")
    assert (code, value["ok"], value["schema"]) == (0, True, "ralphy/init@1")
    kinds = {row["path"]: row["kind"] for row in value["changes"]}
    assert kinds[".ralphy/config.yaml"] == kinds["Makefile"] == "create"
    assert value["next"] == ["git add .ralphy Makefile && git commit -m 'chore: set up Ralphy'", "ralphy doctor",
                             'ralphy start "what you want built"']  # fmt: skip
    assert "look at `checks:`" in value["first"][0]
    assert not (git_repo / ".git" / "ralphy").exists()
    code, out, _ = call("init")
    assert code == 0
    detected, done, following = out.split("\n\n")
    assert following.splitlines()[0] == "Next:" and "ralphy doctor  " in following
    assert detected.startswith("detected python, ") and "\n  because " in detected
    assert all(line.startswith("kept") for line in done.splitlines())


def test_init_refuses_a_gitignore_that_git_would_wait_for(git_repo: Path, call: Call) -> None:
    write(git_repo, "Makefile", "all:\n")
    (git_repo / ".gitignore").unlink()
    os.mkfifo(git_repo / ".gitignore")
    code, _, said = call("init")
    assert code == 3
    assert ".gitignore: is not a plain file, and Git would wait for it" in said
    assert not (git_repo / ".ralphy").exists()


def test_a_makefile_that_was_being_edited_stays_the_persons_to_commit(git_repo: Path, git: RunGit, call: Call) -> None:
    makefile = write(git_repo, "Makefile", "all: ; @echo one\n")
    git("add", "Makefile")
    git("commit", "--quiet", "--message", "build: make")
    makefile.write_text("all: ; @echo two\n", encoding="utf-8")
    _, value = call.json("init")
    assert value["first"][0].startswith("commit Makefile:")


def test_make_loop_works_straight_after_init_and_a_prd(foreign: Path, git: RunGit, call: Call) -> None:
    write(foreign, "Makefile", "all: ; @echo built\n")
    git("add", "Makefile")
    git("commit", "--quiet", "--message", "build: make")
    call("init")
    feature = write(foreign, "docs/features/login/PRD.md", PRD).parent
    for _ in range(2):
        done = make(foreign, "loop")
        assert done.returncode == 0, done.stderr
        assert "waiting for a person" in done.stderr
        (feature / "APPROVED").touch()
    done = make(foreign, "loop")
    assert done.returncode == 0, done.stderr
    first = git("log", "--reverse", "--format=%h", "main..ralph/login").splitlines()[0]
    made = set(git("show", "--name-only", "--format=", first).splitlines())
    assert "docs/features/login/PRD.md" in made
    assert not {name for name in made if not name.startswith("docs/features/login/")}  # the settings are the person's
    assert git("status", "--porcelain", "--", "docs", "src") == ""
    document = json.loads((feature / "prd.json").read_text())
    assert (feature / document["$schema"]).resolve() == foreign / ".ralphy" / "schemas" / "prd.schema.json"
    assert [story["status"] for story in document["userStories"]] == ["completed", "completed"]


def test_what_the_repository_ignores_is_left_out_of_the_first_commit(
    foreign: Path, git: RunGit, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RALPHY_AGENT_COMMAND", shlex.join(AGENT))
    write(foreign, ".gitignore", "__pycache__/\n.ralphy/\nMakefile\n")
    git("commit", "--quiet", "--all", "--message", "chore: ignore")
    call("init")
    write(foreign, "docs/features/login/PRD.md", PRD)
    assert call("loop")[0] == ExitCode.WAITING
    write(foreign, "docs/features/login/APPROVED", "")
    assert call("loop")[0] == ExitCode.WAITING
    assert git("log", "--format=%s", "-1", "ralph/login").endswith("QA_REPORT.md by the qa step")
    assert git("ls-files", "--cached", "--ignored", "--exclude-standard") == ""


def test_a_feature_folder_that_git_ignores_is_a_conflict_that_names_the_rule(
    foreign: Path, git: RunGit, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RALPHY_AGENT_COMMAND", sys.executable)  # one that is there
    write(foreign, ".gitignore", "__pycache__/\ndocs/\n")
    git("commit", "--quiet", "--all", "--message", "chore: ignore")
    write(foreign, "docs/features/login/prd.json", '{"userStories": [{"id": "US-001", "title": "One"}]}')
    code, _, err = call("loop", "--auto-approve")
    assert code == 4
    assert "docs/features/login: is ignored by git" in err and "git check-ignore -v" in err


def test_detect_shows_checks_and_evidence(call: Call) -> None:
    code, value = call.json("detect")
    assert (code, value["language"], value["saved"]) == (0, "python", False)
    assert [check["name"] for check in value["checks"]] == ["test"]
    assert any("conftest.py" in sentence for sentence in value["evidence"])


@pytest.mark.parametrize("mine", ["# mine\ngates: {qa: auto}\n", "{gates: {qa: auto}}\n"])
def test_detected_checks_are_saved_behind_what_a_person_wrote(git_repo: Path, call: Call, mine: str) -> None:
    path = write(git_repo, ".ralphy/config.yaml", mine)
    code, value = call.json("detect", "--save")
    assert (code, value["saved"]) == (0, True)
    assert path.read_text().startswith(mine.rstrip("}\n"))
    assert call.json("config", "get", "gates.qa")[1]["value"] == "auto"
    assert [check["name"] for check in call.json("config", "get", "checks")[1]["value"]] == ["test"]
    again = path.read_text()
    assert "it already has checks" in call("detect", "--save")[1]
    assert path.read_text() == again


def test_detect_never_overrules_what_a_person_decided(git_repo: Path, call: Call) -> None:
    for theirs in ("checks: []\n", "stack: {test_command: tox}\n"):
        path = write(git_repo, ".ralphy/config.yaml", theirs)
        code, out, _ = call("detect", "--save")
        assert code == 0
        assert "kept .ralphy/config.yaml: it already has" in out
        assert path.read_text() == theirs


def test_validate_looks_at_everything_a_run_could_read(git_repo: Path, call: Call) -> None:
    call("init")
    for name in ("login", "logout"):
        path = git_repo / "docs" / "features" / name / "prd.json"
        path.parent.mkdir(parents=True)
        path.write_bytes(example())
    code, value = call.json("validate")
    assert (code, value["ok"]) == (0, True)
    assert [row["path"] for row in value["files"]] == [
        ".ralphy/config.yaml", "docs/features/login/prd.json", "docs/features/logout/prd.json",
    ]  # fmt: skip


def test_validate_names_file_line_and_field_and_goes_on_to_the_next_file(git_repo: Path, call: Call) -> None:
    broken = example().decode().replace('"priority": 1', '"priority": "high"', 1)
    write(git_repo, "docs/features/login/prd.json", broken)
    write(git_repo, ".ralphy/config.yaml", "gates: {spec: human}\nlimits: {max_attemps: 3}\n")
    line = 1 + broken[: broken.index('"high"')].count("\n")
    code, _, err = call("validate")
    assert code == 3
    assert f'docs/features/login/prd.json:{line}: userStories[0].priority is "high"' in err
    assert ".ralphy/config.yaml:2:" in err
    assert "max_attempts" in err
    value = call.json("validate")[1]
    assert [row["ok"] for row in value["files"]] == [False, False]


def test_validate_says_how_to_get_back_a_broken_prd_json(made: Make) -> None:
    project, call = made(story("US-001"))
    project.play(stories={"*": [works()]})
    project.loop()
    (project.folder / "prd.json").write_text("{", encoding="utf-8")
    for words in (("validate",), ("validate", "login")):
        code, _, err = call(*words)
        assert (words, code, "brings back the last one that was committed" in err) == (words, 3, True)


def test_validate_takes_a_feature_a_draft_or_any_path(git_repo: Path, call: Call) -> None:
    write(git_repo, "docs/features/login/prd.json", example().decode())
    write(git_repo, "stories.json", '{"userStories": [{"id": "US-001"}]}')
    assert "login/prd.json" in call("validate", "login")[1]
    code, _, err = call("validate", "stories.json")
    assert (code, "stories.json" in err) == (3, True)
    assert call("validate", "nothing/prd.json")[0] == 2


def test_a_prompt_that_lacks_its_report_or_cannot_be_used_is_named(git_repo: Path, call: Call) -> None:
    write(git_repo, "docs/features/login/PRD.md", PRD)
    call("init-prompts")
    qa, pr = ".ralphy/prompts/qa.md.j2", "docs/features/login/.ralphy/prompts/pr.md"
    (git_repo / qa).write_text("Review {{ feature }} as if your life depended on it. " * 4, encoding="utf-8")
    write(git_repo, pr, "Too short.")
    write(git_repo, ".ralphy/prompts/_house.md.j2", "Be kind.")
    lacks = f"{qa}: EXIT_SIGNAL is missing; using the built-in report"
    code, out, _ = call("validate")
    assert code == 0
    assert f"ok  {qa}: prompt of the qa step\n  warning: {lacks}\n" in out
    assert f"  warning: {pr}: " in out and "100" in out and "using the built-in prompt" in out
    assert out.count("warning") == 2 and "_house" not in out
    assert f"warning: {lacks}" in call("validate", qa)[1]
    assert "using the built-in prompt" in call("validate", "login")[1]
    found = call.findings()["prompts"]
    assert (found["state"], lacks in found["said"], pr in found["said"]) == ("warn", True, True)
    assert "_report.md.j2" in found["fix"]
    (git_repo / qa).unlink()
    (git_repo / pr).unlink()
    found = call.findings()["prompts"]
    assert found["state"] == "ok"


def test_a_repository_with_nothing_to_validate_says_so(call: Call) -> None:
    code, _, err = call("validate")
    assert code == 2
    assert "no PRD.md, prd.json or config.yaml here" in err
