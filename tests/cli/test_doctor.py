"""doctor: what is missing is named, with what mends it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ralphy.agents.claude.versions import NAMES, TESTED
from ralphy.cli.setup import programs
from ralphy.git.run_lock import Lock
from tests.cli.conftest import Call, Make
from tests.conftest import RunGit, program
from tests.engine.building import ROOT, Project, story
from tests.sampling import sampled


@pytest.fixture
def bin_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is first on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


@pytest.fixture
def claude(bin_first: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IS_SANDBOX", "1")
    program(bin_first / "python3", f'exec "{sys.executable}" "$@"')  # one that has pytest
    return program(bin_first / "claude", 'echo "2.1.197 (Claude Code)"')


@dataclass(frozen=True)
class Machine:
    """A repository and the machine that it is on, for somebody who breaks it."""

    repo: Path
    git: RunGit
    tools: Path
    patch: pytest.MonkeyPatch

    def has_claude(self, version: str) -> None:
        program(self.tools / "claude", f'echo "{version} (Claude Code)"')

    def has_a_filter_in_the_checkout(self) -> None:
        self.git("config", "filter.nbstripout.clean", str(program(self.repo / ".venv" / "nbstripout", "cat")))

    def has_a_commit_from_the_future(self) -> None:
        self.patch.setenv("GIT_COMMITTER_DATE", "4070908800 +0000")
        self.git("commit", "--quiet", "--allow-empty", "--message", "chore: later")

    def is_roots(self) -> None:
        self.patch.delenv("IS_SANDBOX")
        self.patch.setattr(os, "geteuid", lambda: 0)

    def has_a_forge_without_gh(self) -> None:
        self.git("remote", "add", "origin", "https://somebody:secret@github.com/somebody/shop.git")
        for name in ("git", "make"):
            found = next(p for p in os.environ["PATH"].split(os.pathsep) if (Path(p) / name).exists())
            (self.tools / name).symlink_to(Path(found) / name)
        self.patch.setenv("PATH", str(self.tools))


# What is so -> the finding, its state, and a part of what is said and of what to do.
FOUND: dict[str, tuple[Callable[[Machine], object], str, str, str, str]] = {
    "a filter in the checkout": (Machine.has_a_filter_in_the_checkout, "git filters", "fail", "filter.nbstripout.clean",
                                 "git config filter.nbstripout.clean COMMAND"),
    "a commit from the future": (Machine.has_a_commit_from_the_future, "clock", "warn", "in the future", "set-ntp"),
    "claude as root outside of a sandbox": (Machine.is_roots, "agent", "fail", "as root", "IS_SANDBOX=1"),
    "a tested claude": (lambda m: m.has_claude(TESTED[-1]), "agent", "ok", f"tested with {NAMES}", ""),
    "an old claude": (lambda m: m.has_claude("2.1.100"), "agent", "warn", f"older than the tested versions ({NAMES})",
                      "npm install"),
    "a new claude": (lambda m: m.has_claude("2.2.0"), "agent", "warn", f"newer than the tested versions ({NAMES})",
                     "npm install"),
    "another tool of the name": (lambda m: program(m.tools / "ralphy", "echo other"), "ralphy", "warn", "another tool",
                                 "PATH="),
    "a forge without gh": (Machine.has_a_forge_without_gh, "gh", "warn", "cannot open pull requests", "install gh"),
    "a sandbox that is switched off": (lambda m: m.patch.setenv("RALPHY_SAFETY_SANDBOX", "none"), "sandbox", "warn",
                                       "safety.sandbox is none", "auto"),
    "no sandbox at the level": (lambda m: m.patch.setenv("RALPHY_SAFETY_LEVEL", "minimal"), "sandbox", "warn",
                                "minimal", "moderate"),
}  # fmt: skip


@pytest.mark.parametrize("what", FOUND)
def test_what_is_wrong_is_named_with_what_mends_it(
    what: str, git_repo: Path, git: RunGit, claude: Path, monkeypatch: pytest.MonkeyPatch,
    call: Call,
) -> None:  # fmt: skip
    prepare, name, state, said, fix = FOUND[what]
    prepare(Machine(git_repo, git, claude.parent, monkeypatch))
    code, found = call.doctor()
    assert (found[name]["state"], code) == (state, 5 if state == "fail" else 0)
    assert said in found[name]["said"] and fix in found[name]["fix"] and bool(fix) is bool(found[name]["fix"])
    assert "secret" not in json.dumps(found)


def test_a_missing_remote_and_unknown_checks_are_warnings_and_a_missing_commit_is_a_failure(
    tmp_path: Path, git: RunGit, claude: Path, call: Call
) -> None:
    git("init", "--quiet", str(tmp_path / "bare"), cwd=tmp_path)
    call.directory = tmp_path / "bare"
    code, found = call.doctor()
    assert (code, found["checks"]["state"], found["remote"]["state"]) == (5, "warn", "warn")
    assert (found["repository"]["state"], found["repository"]["said"]) == ("fail", "the repository has no commit yet")
    assert found["repository"]["fix"] == "git commit --allow-empty -m 'Start'"
    assert found["remote"]["fix"] == "git remote add origin URL (optional)"
    assert found["checks"]["fix"].endswith('such as: checks: [{name: test, run: "make test"}]')


def test_a_repository_with_all_that_is_needed_passes_and_people_read_a_line_for_each(
    git_repo: Path, claude: Path, call: Call
) -> None:
    code, found = call.doctor()
    assert code == 0
    assert "2.1.197" in found["agent"]["said"]
    assert found["identity"]["said"] == "Test Person <person@example.org>"
    assert "pytest" in found["checks"]["said"]
    assert [found[name]["state"] for name in ("python", "git", "repository", "writing", "disk", "clock", "lock")] == [
        "ok"
    ] * 7
    with Lock(git_repo / ".git" / "ralphy" / "checkouts" / "main" / "lock", "feature login"):
        code, out, _ = call("doctor", "--no-checks")
    lines = out.splitlines()
    assert code == 0 and lines[-1].startswith("0 problems, ")
    lock = next(line for line in lines if line.startswith("warn  lock"))
    assert f"pid {os.getpid()}" in lock and "feature login" in lock
    remote = next(n for n, line in enumerate(lines) if line.startswith("warn  remote"))
    assert lines[remote + 1].strip() == "fix: git remote add origin URL (optional)"


def test_doctor_changes_nothing_and_really_notices_a_change_of_a_file(
    git_repo: Path, git: RunGit, claude: Path, call: Call
) -> None:
    before = sorted(str(path) for path in git_repo.rglob("*"))
    assert call.findings()["file watching"]["state"] == "ok"
    assert sorted(str(path) for path in git_repo.rglob("*")) == before
    assert git("status", "--porcelain", "--ignored") == ""


RUNNERS = {
    "no-such-runner --all": "test needs no-such-runner, which is not on PATH",
    "./run-tests": "test needs ./run-tests, which is not there, or not executable",
    "./README": "test needs ./README, which is not there, or not executable",
    "./check.sh": "",
    "python3 -m compileall -q src": "",
    f"{sys.executable} -S -E check.py": "",
}


def test_a_check_that_can_not_be_started_is_said_before_the_loop_refuses_it(made: Make) -> None:
    project, call = made(story("US-001"))
    for name, mode in (("check.sh", 0o755), ("README", 0o644)):
        (project.repo / name).write_text("#!/bin/sh\nexit 0\n")
        (project.repo / name).chmod(mode)
    project.commit("test: runners", "check.sh", "README")
    for run, said in RUNNERS.items():
        project.configure(checks=[{"name": "test", "run": run}])
        found = call.findings()["checks"]
        assert (run, found["state"], found["said"] if said else "") == (run, "fail" if said else "ok", said)
        assert not said or call("loop")[0] == 4
    assert call("loop", "--max-iterations", "1")[0] == 13


def test_what_the_setup_is_to_make_is_not_missing_yet(made: Make) -> None:
    make = "sh -c 'mkdir -p .tools && printf \"#!/bin/sh\\nexit 0\\n\" > .tools/run && chmod +x .tools/run'"
    project, call = made(story("US-001"), setup=make, checks=[{"name": "test", "run": ".tools/run"}])
    (project.repo / ".gitignore").write_text("__pycache__/\n.tools/\n")
    project.git("commit", "--quiet", "--all", "-m", "chore: ignore the tools")

    def checks() -> tuple[str, str]:
        found = call.findings()["checks"]
        return found["state"], found["said"]

    assert checks() == ("warn", "test needs .tools/run, which is not there, or not executable (yet)")
    assert call("loop")[0] == 10
    assert not (project.repo / ".tools").exists()  # it was made in the lanes
    project.configure(setup="no-such-setup", checks=[{"name": "test", "run": ".tools/run"}])
    state, said = checks()
    assert (state, said.partition(";")[0]) == ("fail", "setup needs no-such-setup, which is not on PATH")


@pytest.mark.fault("P17")
def test_an_agent_that_is_missing_does_not_start_or_never_answers_is_a_failure_with_its_fix(
    git_repo: Path, bin_first: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    monkeypatch.setattr(programs, "_ANSWER_S", 0.3)
    program(bin_first / "broken", 'echo "cannot find module" >&2; exit 1')
    program(bin_first / "silent", "exec sleep 600")
    why = {"no-such-agent": "no-such-agent is not on PATH", "broken": "cannot find module", "silent": "no answer"}
    for command, said in why.items():
        monkeypatch.setenv("RALPHY_AGENT_COMMAND", command)
        code, found = call.doctor()
        assert (command, code, found["agent"]["state"]) == (command, 5, "fail")
        assert said in found["agent"]["said"]
        if command == "no-such-agent":
            assert found["agent"]["fix"].endswith("or try it free: export RALPHY_AGENT_COMMAND=ralphy-rehearsal")


LOGINS = [  # what `claude auth status` does, the variable that holds a key, and what is said
    ("exit 0", "", "ok", "logged in"),
    ("echo 'Not logged in'; exit 1", "", "warn", "claude auth status: Not logged in"),
    ("printf '{\\n \"loggedIn\": false\\n}'; exit 1", "", "warn", "claude auth status: not logged in"),
    ("exit 1", "ANTHROPIC_API_KEY", "ok", "by ANTHROPIC_API_KEY"),
]


def test_whether_claude_is_logged_in_is_asked_without_a_prompt(
    git_repo: Path, claude: Path, bin_first: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    for does, key, state, said in LOGINS:
        program(bin_first / "claude", f'[ "$*" = "auth status" ] && {{ {does}; }}\necho "2.1.197 (Claude Code)"')
        if key:
            monkeypatch.setenv(key, "sk-test")
        code, found = call.doctor()
        assert (code, found["login"]["state"]) == (0, state)
        assert said in found["login"]["said"] and bool(found["login"]["fix"]) == (state == "warn")


def test_the_remote_is_asked_whether_it_takes_a_push_and_gets_none(
    git_repo: Path, git: RunGit, claude: Path, tmp_path: Path, call: Call
) -> None:
    git("init", "--quiet", "--bare", str(tmp_path / "hub.git"), cwd=tmp_path)
    git("remote", "add", "origin", str(tmp_path / "hub.git"))
    remote = call.findings()["remote"]
    assert (remote["state"], remote["said"].endswith(", push allowed")) == ("ok", True)
    assert git("for-each-ref", cwd=tmp_path / "hub.git") == ""
    git("remote", "set-url", "origin", str(tmp_path / "gone.git"))
    remote = call.findings()["remote"]
    assert (remote["state"], "gone.git" in remote["said"], bool(remote["fix"])) == ("warn", True, True)


def test_what_is_safe_to_fix_is_fixed_when_asked_for(git_repo: Path, claude: Path, call: Call) -> None:
    assert call.findings()["set up"]["fix"] == "ralphy init"
    assert not (git_repo / ".ralphy").exists()
    said = call.findings("--fix")["set up"]
    assert said["state"] == "ok" and "created .ralphy/config.yaml" in said["said"]
    schema = git_repo / ".ralphy" / "schemas" / "prd.schema.json"
    schema.write_text("{}")
    mine = (git_repo / ".ralphy" / "config.yaml").read_bytes() + b"# mine\n"
    (git_repo / ".ralphy" / "config.yaml").write_bytes(mine)
    assert "prd.schema.json" in call.findings()["set up"]["said"] and schema.read_text() == "{}"
    assert "fixed: replaced" in call.findings("--fix")["set up"]["said"]
    assert (schema.read_text() != "{}", (git_repo / ".ralphy" / "config.yaml").read_bytes()) == (True, mine)
    assert call.findings()["set up"]["state"] == "ok"


def test_the_checks_are_run_once_where_a_storys_will_run(made: Make) -> None:
    project, call = made(story("US-001"))

    def rows() -> dict[str, tuple[str, str]]:
        return {row["name"]: (row["state"], row["said"]) for row in call.json("doctor")[1]["checks"]}

    found = rows()
    assert (found["run test"][0], found["probe"][0]) == ("ok", "ok"), found
    (project.repo / "src" / "bad.py").write_text("BROKEN = 1\n")
    assert rows()["run test"][0] == "ok"  # what is not committed is not what a story builds on
    project.commit("feat: break it", "src/bad.py")
    state, said = rows()["run test"]
    assert (state, "src/bad.py::works" in said.splitlines()[0]) == ("fail", True)
    program(project.repo / ".git" / "hooks" / "pre-commit", "echo no licence; exit 1")
    state, said = rows()["run pre-commit"]
    assert (state, "no licence" in said) == ("fail", True)


def test_settings_that_cannot_be_read_are_a_failure_and_the_rest_is_looked_at_all_the_same(
    git_repo: Path, claude: Path, call: Call
) -> None:
    (git_repo / ".ralphy").mkdir()
    (git_repo / ".ralphy" / "config.yaml").write_text("gatez: {}\n", encoding="utf-8")
    code, found = call.doctor()
    assert (code, found["settings"]["state"]) == (5, "fail")
    assert ".ralphy/config.yaml:1" in found["settings"]["said"]
    assert found["disk"]["state"] == "ok"
    assert [name for name, one in found.items() if one["state"] == "fail"] == ["settings"]


def test_outside_of_a_repository_the_programs_are_looked_at(tmp_path: Path, claude: Path, call: Call) -> None:
    call.directory = tmp_path
    code, found = call.doctor()
    assert code == 5
    assert "`-C DIR`" in found["repository"]["fix"] and "`git init`" in found["repository"]["fix"]
    assert found["python"]["said"].startswith(sys.version.split()[0])


def test_a_sandbox_that_works_is_said(sandbox: None, git_repo: Path, claude: Path, call: Call) -> None:
    assert call.findings()["sandbox"]["state"] == "ok"


def test_a_sandbox_that_does_not_work_is_a_fault_where_it_is_asked_for(
    git_repo: Path, claude: Path, bin_first: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    program(bin_first / "bwrap", 'echo "bwrap: No permissions to create a new namespace" >&2; exit 1')
    for wanted, code, state in (("auto", 0, "warn"), ("bwrap", 5, "fail")):
        monkeypatch.setenv("RALPHY_SAFETY_SANDBOX", wanted)
        found = call.doctor()
        assert (found[0], found[1]["sandbox"]["state"]) == (code, state)
        assert "No permissions" in found[1]["sandbox"]["said"]
        assert "user namespaces" in found[1]["sandbox"]["fix"]


VISIBLE = [str(ROOT), sys.prefix, sys.base_prefix]
STRICT: dict[str, dict[str, Any]] = {
    "all is there": {},
    "it is switched off": {"safety": {"sandbox": "none"}},
    "the agent cannot be seen": {"safety": {"ro_paths": []}},
    "the agent has no key": {"agent": {"command": ["claude"]}},
    "a check cannot be seen": {"checks": [{"name": "test", "run": "tester --all"}]},
}


def husky(project: Project) -> None:
    project.git("config", "core.hooksPath", ".husky/_")


def dead_hook(project: Project) -> None:
    (project.repo / ".git" / "hooks" / "pre-commit").symlink_to("../../gone")


def commit_msg(project: Project) -> None:
    program(project.repo / ".git" / "hooks" / "commit-msg", "exit 1")


def globally_ignored(project: Project) -> None:
    ignore = project.repo.parent / "global"
    ignore.write_text("docs/\n", encoding="utf-8")
    project.git("config", "--global", "core.excludesFile", str(ignore))


def behind(project: Project) -> None:
    project.git("commit", "--quiet", "--allow-empty", "-m", "feat: theirs")
    project.git("update-ref", "refs/remotes/origin/main", "HEAD")
    project.git("reset", "--quiet", "--soft", "HEAD~1")


def owned_by_another(project: Project) -> None:
    os.chown(project.repo / "check.py", 12345, -1)


def in_lfs(project: Project) -> None:
    (project.repo / ".gitattributes").write_text("*.bin filter=lfs\n", encoding="utf-8")
    (project.repo / "a.bin").write_text("version https://git-lfs.github.com/spec/v1\n", encoding="utf-8")
    project.git("add", "--all", ".", ":!docs")


def without_workflow_scope(project: Project) -> None:
    (project.repo / ".github" / "workflows").mkdir(parents=True)
    project.git("remote", "add", "origin", "https://github.com/somebody/shop.git")
    answer = "HTTP/2.0 200 OK\\r\\nX-Oauth-Scopes: gist, repo\\r\\n\\r\\n{}"
    program(project.repo.parent / "bin" / "gh", f"printf '{answer}'")


# What somebody has set up -> the finding, its state, and a part of what is said and of what to do.
HINDRANCES: dict[str, tuple[Callable[[Project], object], str, str, str, str]] = {
    "a branch ralph": (lambda p: p.git("branch", "ralph"), "branches", "fail", "branch ralph", "git branch -m ralph"),
    "docs ignored by a global file": (globally_ignored, "ignored", "fail", "global:1:docs/", "remove that rule"),
    "a commit-msg hook": (commit_msg, "messages", "warn", "commit-msg", "feat(login): US-003"),
    "husky that is not installed": (husky, "hooks", "warn", ".husky/_ is not there", "npm install"),
    "a hook that leads nowhere": (dead_hook, "hooks", "warn", "links to nothing: pre-commit", "install them again"),
    "a sparse checkout": (lambda p: p.git("sparse-checkout", "set", "src"), "sparse", "warn", "lanes have all files",
                          "git sparse-checkout add docs/features"),
    "a base behind its remote": (behind, "base", "warn", "main lacks 1 of the commits", "git pull --ff-only"),
    "a file of another user": (owned_by_another, "owners", "warn", "check.py", "chown"),
    "LFS without git-lfs": (in_lfs, "lfs", "warn", "a.bin", "install git-lfs"),
    "a token without workflow": (without_workflow_scope, "workflows", "warn", "scope workflow", "gh auth refresh"),
}  # fmt: skip


ALONE = ("a commit-msg hook", "husky that is not installed", "a hook that leads nowhere",
         "docs ignored by a global file")  # fmt: skip


@pytest.mark.parametrize("what", ["the others", *ALONE])
def test_what_would_hurt_in_the_night_is_said_before_it(made: Make, bin_first: Path, what: str) -> None:
    project, call = made(story("US-001"))
    names = [what] if what in ALONE else [name for name in HINDRANCES if name not in ALONE]
    rows = [HINDRANCES[name] for name in names if os.geteuid() == 0 or HINDRANCES[name][1] != "owners"]
    assert "hindrances" in call.findings()
    for prepare, *_ in rows:
        prepare(project)

    found = call.findings()

    assert "hindrances" not in found
    for _, name, state, said, fix in rows:
        row = found[name]
        assert (name, row["state"], said in row["said"], fix in row["fix"]) == (name, state, True, True), row


@pytest.mark.fault("P17")
@pytest.mark.parametrize("what", sampled(STRICT, "all is there", "the agent cannot be seen", "a check cannot be seen"))
def test_of_the_level_strict_it_says_what_the_loop_says(
    what: str, sandbox: None, made: Make, bin_first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IS_SANDBOX", "1")
    for name in ("claude", "tester"):
        program(bin_first / name, "echo 2.1.197")
    settings = STRICT[what]
    safety = {"level": "strict", "ro_paths": [*VISIBLE, str(tmp_path)], **settings.get("safety", {})}
    if what == "a check cannot be seen":
        safety["ro_paths"] = [*VISIBLE, str(tmp_path / "scenario.json")]
    project, call = made(story("US-001"), **{**settings, "safety": safety})
    before = sorted(str(path) for path in project.repo.rglob("*"))
    found = call.findings()["sandbox"]
    assert sorted(str(path) for path in project.repo.rglob("*")) == before
    code, out, _ = call("loop", "--json")
    if what == "all is there":
        assert (found["state"], code) == ("ok", 10), found
        return
    refused = json.loads(out.splitlines()[-1])["error"]
    assert (found["state"], code) == ("fail", 5)
    assert (found["said"], found["fix"]) == (refused["message"], refused["hint"])
