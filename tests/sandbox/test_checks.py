"""What a check, which runs what an agent wrote, does to Git and to a person's settings does not stay."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.engine.building import Project, assert_clean, build, drive, story, works

MOVES = """
git push -q origin HEAD:main
env -u GIT_CONFIG_GLOBAL git config --global url.evil.insteadOf origin
git update-ref refs/heads/main HEAD
git tag -f v1 HEAD; git tag made
git stash drop -q
git replace HEAD HEAD~1
echo "$PWD/evil" > .git/objects/info/alternates
mkdir -p .git/hooks; echo evil > .git/hooks/post-commit
git config core.fsmonitor evil
git symbolic-ref HEAD refs/heads/main
"""


def with_check(tmp_path: Path, script: str) -> Project:
    """A project whose check runs this script when the story's code is there, and passes."""
    path = tmp_path / "check.sh"
    path.write_text(f"test -e src/us_001.py || exit 0\n{script}\nexit 0\n")
    project = build(tmp_path, story("US-001"), checks=[{"name": "test", "run": f"sh {path}"}])
    remote = tmp_path / "origin.git"
    project.git("init", "--quiet", "--bare", str(remote))
    project.git("remote", "add", "origin", str(remote))
    project.git("push", "--quiet", "origin", "main")
    project.git("tag", "v1")
    (project.repo / "src" / "base.py").write_text("MINE = 1\n")
    project.git("stash", "push", "--quiet")
    return project


def state(project: Project) -> dict[str, str]:
    files = (".git/config", ".git/hooks/post-commit", ".git/objects/info/alternates")
    there = {name: (project.repo / name).read_text() for name in files if (project.repo / name).exists()}
    home = Path(project.env["HOME"], ".gitconfig").read_text()
    return {"main": project.git("rev-parse", "main"), "remote": project.git("ls-remote", "origin"),
            "tags": project.git("tag", "--list", "--format=%(refname) %(objectname)"), "home": home,
            "stash": project.git("stash", "list"), "replaced": project.git("replace"), **there}  # fmt: skip


@pytest.mark.attempt(31, 32, 33)
def test_what_a_check_does_to_git_is_put_back(tmp_path: Path) -> None:
    project = with_check(tmp_path, MOVES)
    before = state(project)

    ended = project.loop()

    assert state(project) == before
    assert project.git("symbolic-ref", "HEAD") == "refs/heads/ralph/login"
    assert project.landed() == ["login/US-001"]
    said = ("refs/heads/main", "refs/tags/made", ".git/config", ".git/hooks/post-commit", "~/.gitconfig", "the stash")
    for name in said:
        assert name in ended.text
    assert_clean(project)


# Ends the Ralphy that runs the check, as by `kill -9`.
KILL = """
import os, psutil
for process in psutil.Process().parents():
    if "tests.engine.driver" in process.cmdline():
        process.kill()
"""


@pytest.mark.attempt(32)
def test_it_is_put_back_by_the_next_start_when_ralphy_was_killed_in_the_check(tmp_path: Path) -> None:
    (tmp_path / "kill.py").write_text(KILL)
    project = with_check(tmp_path, f"{MOVES}\n{sys.executable} {tmp_path}/kill.py")
    before = state(project)
    assert drive(project, "note", str(tmp_path / "noted")) != 0
    (tmp_path / "check.sh").write_text("exit 0\n")

    ended = project.loop()

    assert state(project) == before
    assert "put back" in ended.text
    assert project.landed() == ["login/US-001"], ended.text


@pytest.mark.attempt(32)
def test_checks_can_push_to_remotes_of_their_own_alone(tmp_path: Path) -> None:
    own, origin = tmp_path / "own.git", tmp_path / "origin.git"
    pushes = "; ".join(f"git push -q {to} HEAD:{name}" for to, name in (("origin", "x"), (origin, "y"), (own, "z")))
    project = with_check(tmp_path, f"git init -q --bare {own}; {pushes}")

    project.loop()

    assert [row.split()[1] for row in project.git("ls-remote", "origin").splitlines()] == ["HEAD", "refs/heads/main"]
    assert "refs/heads/z" in project.git("ls-remote", str(own))


FORGED = "env -u GIT_REFLOG_ACTION git -c user.name=Me"


@pytest.mark.attempt(36)
@pytest.mark.parametrize("by", ["the agent", "a check"])
def test_a_commit_made_as_a_person_on_the_features_branch_is_no_base(tmp_path: Path, by: str) -> None:
    forge = f"git rm -q -f src/base.py; {FORGED} commit -q -m wip"
    project = with_check(tmp_path, forge if by == "a check" else "")
    act = works(run=[["sh", "-c", forge]]) if by == "the agent" else works()
    project.play(stories={"US-001": [act, works()]})
    with pytest.raises(Exception, match="moved by somebody else"):
        project.loop()

    (tmp_path / "check.sh").write_text("exit 0\n")
    project.loop()

    assert project.landed() == ["login/US-001"]
    assert project.git("show", f"{project.commit_of('US-001')}^:src/base.py") == "BASE = 1", "its deletion is judged"
    assert "wip" not in project.subjects()
    assert any(project.git("log", "-1", "--format=%s", ref) == "wip" for ref in project.refs())


@pytest.mark.attempt(35)
def test_what_moves_as_if_by_a_person_is_said_and_flagged(tmp_path: Path) -> None:
    project = with_check(tmp_path, "")
    forge = f"{FORGED} update-ref -m 'commit: me' refs/heads/main HEAD; {FORGED} tag made"
    project.play(stories={"US-001": [works(run=[["sh", "-c", forge]])]})

    ended = project.loop()

    assert "refs/heads/main, refs/tags/made: changed during the run, possibly by the agent" in ended.text
    assert "possibly by the agent" in str(project.story("US-001")["evidence"]["warnings"])


@pytest.mark.attempt(35)
def test_in_the_sandbox_no_ref_moves_but_the_features_branch(sandbox: None, tmp_path: Path) -> None:
    project = with_check(tmp_path, "")
    project.git("branch", "ralph/other")
    project.git("pack-refs", "--all")
    project.git("branch", "loose")
    project.git("branch", "ralph/loose")
    before = project.git("for-each-ref", "refs/heads/main", "refs/tags", "refs/heads/loose", "refs/heads/ralph/loose",
                         "refs/heads/ralph/other", "refs/stash")  # fmt: skip
    forge = f"""
git commit -q --allow-empty -m mine
for ref in heads/main heads/loose heads/ralph/loose heads/new tags/v1 tags/made remotes/origin/main; do
  {FORGED} update-ref -m 'commit: me' refs/$ref HEAD; git rev-parse HEAD > .git/refs/$ref; done
sed -i "s/^[0-9a-f]*/$(git rev-parse HEAD)/" .git/packed-refs; git stash drop -q
exit 0
"""
    project.play(stories={"US-001": [works(run=[["sh", "-c", forge]])]})

    project.loop()

    assert before == project.git("for-each-ref", "refs/heads/main", "refs/tags", "refs/heads/loose",
                                 "refs/heads/ralph/loose", "refs/heads/ralph/other", "refs/stash")  # fmt: skip
    assert project.git("for-each-ref", "refs/heads/new") == ""
    assert any("/agent-" in ref for ref in project.refs()), "the agent's own commit is possible, and kept"
    assert project.landed() == ["login/US-001"]


@pytest.mark.attempt(21)
def test_what_a_check_leaves_where_git_ignores_it_does_not_steer_a_persons_commands(tmp_path: Path) -> None:
    makes = "mkdir -p .claude build; ln -s / .claude/x; touch build/kept"
    leaves = f"echo 'status: ; touch evil' > GNUmakefile; {makes}"
    project = with_check(tmp_path, leaves)
    (project.repo / ".gitignore").write_text("GNUmakefile\n.claude\nbuild/\n*.log\n__pycache__/\n")
    project.git("commit", "--quiet", "-am", "chore: ignore")

    ended = project.loop()

    assert not (project.repo / "GNUmakefile").exists()
    assert not (project.repo / ".claude").exists()
    assert (project.repo / "build" / "kept").exists(), "what builds leave is theirs"
    assert "GNUmakefile" in project.set_aside()
    assert "the checks left GNUmakefile behind" in ended.text
    assert project.landed() == ["login/US-001"]


@pytest.mark.attempt(51)
@pytest.mark.xfail(strict=True, reason="lanes: the checkout's own remotes are there for an agent that sets out to push")
def test_an_agent_that_takes_its_settings_away_cannot_push(tmp_path: Path) -> None:
    project = with_check(tmp_path, "")
    push = "env -u GIT_CONFIG_COUNT git push -q origin HEAD:main"
    project.play(stories={"US-001": [works(run=[["sh", "-c", f"git commit -q --allow-empty -m x; {push}"]])]})

    project.loop()

    assert project.git("ls-remote", "origin", "refs/heads/main").split()[0] == project.git("rev-parse", "main")


@pytest.mark.attempt(32)
@pytest.mark.xfail(strict=True, reason="lanes: agents and checks write to the repository's own object database")
def test_a_check_cannot_delete_objects(tmp_path: Path) -> None:
    project = with_check(
        tmp_path, "oid=$(git rev-parse main:check.py); rm -f .git/objects/$(echo $oid | sed 's#^..#&/#')"
    )

    project.loop()

    assert project.git("cat-file", "-t", "main:check.py") == "blob"
