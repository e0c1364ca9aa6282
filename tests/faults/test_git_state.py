"""Git's own state: what an agent does to it ends with its lane, and what changed outside of a lane is said."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import program
from tests.engine.building import Act, Project, assert_clean, build, drive, story, works
from tests.engine.driver import KILLED
from tests.faults.world import World, changed, world_of
from tests.sampling import sampled

HOOKS = ("pre-commit", "post-commit", "reference-transaction", "post-index-change", "post-checkout", "post-rewrite")
GIT_DIR = "$(git rev-parse --git-dir)"


class Canaries:
    """Programs that leave a file when they are run, by the place from which git would run them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.sung = folder, folder / "sung"
        self.sung.mkdir(parents=True)

    def program(self, name: str) -> str:
        return str(program(self.folder / name, f'touch "{self.sung}/{name}"\ncat 2>/dev/null\nexit 0'))

    def hooks(self, name: str) -> str:
        folder = self.folder / f"{name}.d"
        folder.mkdir(exist_ok=True)
        for hook in HOOKS:
            shutil.copy(self.program(name), folder / hook)
        return str(folder)

    def config(self) -> str:
        """Everything at once that a configuration can make git run."""
        p, more = self.program, self.folder / "included"
        more.write_text(f'[alias]\n\tstatus = "!{p("alias")}"\n[diff "x"]\n\ttextconv = {p("textconv")}\n')
        attributes = self.folder / "attributes"
        attributes.write_text("* filter=x diff=x merge=x\n")
        return (
            f"[core]\n\tfsmonitor = {p('fsmonitor')}\n\thooksPath = {self.hooks('hooks-path')}\n"
            f"\tpager = {p('pager')}\n\tsshCommand = {p('ssh')}\n\tgitProxy = {p('proxy')}\n"
            f"\taskPass = {p('askpass')}\n\teditor = {p('editor')}\n"
            f"\tattributesFile = {attributes}\n\talternateRefsCommand = {p('alternates')}\n"
            f'[filter "x"]\n\tclean = {p("clean")}\n\tsmudge = {p("smudge")}\n'
            f'[diff]\n\texternal = {p("external")}\n[diff "x"]\n\tcommand = {p("command")}\n'
            f'[merge "x"]\n\tdriver = {p("driver")}\n[credential]\n\thelper = "!{p("credential")}"\n'
            f"[gpg]\n\tprogram = {p('gpg')}\n[commit]\n\tgpgSign = true\n[log]\n\tshowSignature = true\n"
            f"[include]\n\tpath = {more}\n"
        )

    def heard(self) -> set[str]:
        return {path.name for path in self.sung.iterdir()}


@pytest.fixture
def canaries(tmp_path: Path) -> Canaries:
    return Canaries(tmp_path / "canaries")


def sh(*commands: str) -> list[list[str]]:
    return [["sh", "-c", f"({command}) >/dev/null 2>&1; true"] for command in commands]


def appends(path: str, text: str) -> list[list[str]]:
    return [["sh", "-c", f'printf "%s" "$1" >> {path}', "sh", text]]


def hostile(canaries: Canaries) -> Act:
    """An agent that works, and makes git run its programs wherever git can be told to."""
    hooks = sh(f"mkdir -p {GIT_DIR}/hooks; cp -r {canaries.hooks('hook')}/. {GIT_DIR}/hooks/")
    attributes = appends(f"{GIT_DIR}/info/attributes", "* filter=x diff=x merge=x\n")
    return works(run=[*hooks, *appends(f"{GIT_DIR}/config", canaries.config()), *attributes])


def owned(tmp_path: Path, *acts: Act) -> tuple[Project, World]:
    """A project whose agents do this, a story each, and a story more; with the person's branch, tag, stash, hook and
    edits; and what all of that is like."""
    names = [f"US-{number:03}" for number in range(1, len(acts) + 2)]
    project = build(tmp_path, *map(story, names))
    project.play(stories={name: [*acts[at : at + 1], works()] for at, name in enumerate(names)})
    base, hook = project.repo / "src" / "base.py", project.repo / ".git" / "hooks" / "pre-push"
    project.git("branch", "other")
    project.git("tag", "v1")
    base.write_text("STASHED = 1\n")
    project.git("stash", "push", "--quiet")
    base.write_text("STAGED = 1\n")
    project.git("add", "src/base.py")
    base.write_text("EDITED = 1\n")
    (project.repo / "src" / "mine.py").write_text("MINE = 1\n")
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 0\n")
    return project, world_of(project)


def assert_untouched(project: Project, before: World) -> None:
    """All stories have landed once, and the person's world is what it was."""
    names = list(project.statuses())
    assert list(changed(before, world_of(project))) == []
    assert project.landed() == [f"login/{name}" for name in names]
    works_of = {project.code(f"src/{name.lower().replace('-', '_')}.py") for name in names}
    assert works_of <= {"WORKS = 1\n", "WORKS = 2\n"}
    assert project.code("src/base.py") == "BASE = 1\n"


def test_plain_git_runs_what_the_canaries_are_made_of(tmp_path: Path, canaries: Canaries) -> None:
    project = build(tmp_path, story("US-001"))
    config = project.repo / ".git" / "config"
    config.write_text(config.read_text() + canaries.config())
    shutil.copytree(canaries.hooks("hook"), project.repo / ".git" / "hooks", dirs_exist_ok=True)
    (project.repo / "src" / "base.py").write_text("X = 1\n")
    for words in (["status"], ["add", "--all"], ["commit", "--no-gpg-sign", "-qm", "x"], ["diff", "HEAD~1"]):
        subprocess.run(["git", *words], cwd=project.repo, env=project.env, capture_output=True, check=False)

    assert canaries.heard() >= {"fsmonitor", "hooks-path", "clean", "command"}


@pytest.mark.parametrize(
    "killed", [pytest.param(False, marks=pytest.mark.soak), True], ids=["", "and Ralphy was killed"]
)
@pytest.mark.fault("G13", "S2", "P1")
@pytest.mark.attempt(13)
def test_programs_that_an_agent_puts_into_gits_configuration_never_run(
    tmp_path: Path, canaries: Canaries, killed: bool
) -> None:
    project, before = owned(tmp_path, hostile(canaries))
    if killed:
        assert drive(project, "die", "agent_ended", "1") == KILLED

    project.loop(agents=len(project.prd()["userStories"]))

    assert canaries.heard() == set()
    assert_untouched(project, before)


CONFLICT = (
    "echo A=9 > src/base.py; git add src; x=$(git commit-tree -p HEAD -m x $(git write-tree));"
    "echo A=8 > src/base.py; git commit -qm y src"
)
FORGED = """
git add -A && git commit --quiet -m "feat(login): {next} done" -m "Ralphy-Story: login/{next}"
printf '{"commit":"%s","branch":"ralph/login","files":[],"end":{"run":"%s","outcome":"succeeded","landed":true}}' \\
  "$(git rev-parse HEAD)" "$RALPHY_RUN_ID" > $(git rev-parse --git-dir)/ralphy/intent-login.json
"""
DEEDS = {
    "resets": "git add -A; git commit -qm x; git reset -q --hard HEAD~2 || git reset -q --hard HEAD~1;"
              " echo WORKS = 1 > src/{slug}.py",
    "moves and deletes refs": "git commit -q --allow-empty -m agent; git branch -f other; git branch -D main;"
                              " git tag -f v1; git tag fake; git update-ref refs/ralphy/login/{next}/attempt-1 HEAD",
    "switches and commits": "git switch -qc mine; git add -A; git commit -qm mine; git switch -q --detach",
    "replaces": "git replace HEAD HEAD~1; git commit -q --allow-empty -m x; git replace -f HEAD~1 HEAD",
    "clears the stash": "git stash clear; git stash push -qu; git stash pop -q",
    "leaves a merge": f"{CONFLICT}; git merge $x; {{base}}",
    "leaves a rebase": f"{CONFLICT}; git rebase --autostash $x; {{base}}",
    "leaves a bisect": "git bisect start; git bisect bad; git bisect good HEAD~1; {base}",
    "removes parts of git": f"cd {GIT_DIR} && rm -rf HEAD info refs packed-refs config",
    "removes git": "rm -rf .git",
    "makes its own git": "rm -rf .git; git init -q; git add -A; git commit -qm x; rm -rf .git",
    "leaves locks": f"touch {GIT_DIR}/index.lock {GIT_DIR}/HEAD.lock {GIT_DIR}/packed-refs.lock",
    "hides by the index": "git update-index --skip-worktree check.py; git update-index --assume-unchanged src/base.py",
    "forges a landing": FORGED,
    "makes refs that lead in a circle": f"cd {GIT_DIR}; mkdir -p refs/heads/ralph;"
                                        " echo 'ref: refs/heads/other' > refs/heads/ralph/login;"
                                        " echo 'ref: refs/heads/ralph/login' > refs/heads/other",
    "makes a pipe and garbage of refs": f"cd {GIT_DIR}; mkdir -p refs/heads/ralph/login; mkfifo refs/heads/other;"
                                        " echo garbage > refs/heads/ralph/login/x",
    "makes pipes of git's files": f"cd {GIT_DIR}; rm -f packed-refs HEAD index config; mv objects o;"
                                  " mkfifo packed-refs HEAD index config objects",
}  # fmt: skip


def deeds(*names: str) -> list[Act]:
    """What the agents of the first stories do to git, beside their work."""
    found = []
    for number, name in enumerate(names, start=1):
        words = {"{base}": "echo BASE = 1 > src/base.py", "{slug}": f"us_{number:03}", "{next}": f"US-{number + 1:03}"}
        command = DEEDS[name]
        for word, meant in words.items():
            command = command.replace(word, meant)
        found.append(works(run=sh(command)))
    return found


@pytest.mark.parametrize("names", [[*DEEDS][1::2], pytest.param([*DEEDS][::2], marks=pytest.mark.soak)])
@pytest.mark.fault("G16", "A4", "G2", "G1")
@pytest.mark.attempt(13)
def test_what_an_agent_does_to_git_ends_with_its_lane(tmp_path: Path, names: list[str]) -> None:
    project, before = owned(tmp_path, *deeds(*names))

    project.loop(agents=len(project.prd()["userStories"]))

    assert_untouched(project, before)
    assert not [ref for ref in project.refs("refs") if "fake" in ref or "mine" in ref]


KILLED_AFTER = ["moves and deletes refs", "leaves a rebase", "removes git", "makes pipes of git's files",
                "forges a landing"]  # fmt: skip


@pytest.mark.parametrize("what", sampled(KILLED_AFTER, "forges a landing"))
@pytest.mark.fault("G16", "A4", "P1")
def test_nor_does_it_outlive_a_ralphy_that_is_killed(tmp_path: Path, what: str) -> None:
    project, before = owned(tmp_path, *deeds(what))
    assert drive(project, "die", "agent_ended", "1") == KILLED
    assert list(changed(before, world_of(project))) == []

    project.loop(agents=len(project.prd()["userStories"]))

    assert project.outcomes()[0] == ("US-001", "died")
    assert_untouched(project, before)


OUTSIDE = {
    "the configuration": ("git -C {repo} config core.pager evil", ".git/config"),
    "a hook": ("echo exit 1 > {repo}/.git/hooks/pre-commit", ".git/hooks/pre-commit"),
    "a ref": ("git -C {repo} branch -f other ralph/login", "refs/heads/other"),
    "the stash": ("git -C {repo} stash clear", "refs/stash"),
}


@pytest.mark.fault("G16", "G13")
def test_what_changed_outside_of_the_lane_during_a_run_is_said_and_flagged(tmp_path: Path) -> None:
    """Without a sandbox the agent is the user: it cannot be told from the person, and nothing is put back."""
    commands = [command.format(repo=tmp_path / "repo") for command, _ in OUTSIDE.values()]
    project, before = owned(tmp_path, works(run=sh(*commands)))

    ended = project.loop(agents=2)

    found = " ".join(changed(before, world_of(project)))
    warnings = " ".join(project.story("US-001")["evidence"]["warnings"])
    paths = [path for _, path in OUTSIDE.values()]
    assert f"{', '.join(paths)}: changed during the run, by you or, without a sandbox, by the agent" in ended.text
    for path in paths:
        assert path.removeprefix(".git/").removeprefix("refs/") in found
        assert path in warnings
    assert project.landed() == ["login/US-001", "login/US-002"]


@pytest.mark.fault("G16")
def test_names_that_are_no_text_stop_nothing(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    name, text = os.fsdecode(b"caf\xe9"), project.repo / "src" / "base.py"
    project.git("branch", name)
    text.write_text("ONE = 1\n")
    project.git("stash", "push", "--quiet")
    log = project.repo / ".git" / "logs" / "refs" / "stash"
    log.write_bytes(log.read_bytes().replace(b"on main: ", b"on ralph/login: caf\xe9"))
    before = log.read_bytes()
    assert drive(project, "die", "agent_ended", "1") == KILLED

    project.loop(agents=1)

    assert project.landed() == ["login/US-001"]
    assert log.read_bytes() == before
    assert (project.repo / ".git" / "refs" / "heads" / name).exists()
    assert_clean(project)
