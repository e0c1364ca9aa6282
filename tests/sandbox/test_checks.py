"""What a check, which runs what an agent wrote, does to Git and to a person's settings reaches neither."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.building import Project, assert_clean, build, story, works

MOVES = """
git push -q origin HEAD:main
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
    project.add_remote(tmp_path / "origin.git")
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


@pytest.mark.attempt(31, 32)
def test_what_a_check_does_to_git_in_its_lane_reaches_nothing(walls: str, tmp_path: Path) -> None:
    project = with_check(tmp_path, MOVES)
    before = state(project)

    ended = project.loop()

    assert state(project) == before
    assert project.git("symbolic-ref", "HEAD") == "refs/heads/main"
    assert project.landed() == ["login/US-001"], ended.text
    assert_clean(project)


@pytest.mark.attempt(33, 37, 79)
def test_a_persons_settings_are_read_only_in_the_sandbox(sandbox: None, tmp_path: Path) -> None:
    mine = "mkdir -p ~/.config/ralphy; echo 'gates: {qa: auto}' > $XDG_CONFIG_HOME/ralphy/config.yaml"
    noted = "echo '{}' > ~/.local/state/ralphy/trusted.json"
    steers = "env -u GIT_CONFIG_GLOBAL git config --global url.evil.insteadOf x"
    project = with_check(tmp_path, f"{steers}; {mine}; {noted}")
    before = state(project)

    project.loop()

    assert state(project) == before
    assert not Path(project.env["XDG_CONFIG_HOME"], "ralphy", "config.yaml").exists()
    assert project.landed() == ["login/US-001"]


FORGED = "env -u GIT_REFLOG_ACTION git -c user.name=Me"


@pytest.mark.attempt(35, 36)
@pytest.mark.parametrize("by", ["the agent", "a check"])
def test_a_commit_made_as_a_person_in_a_lane_is_no_base(walls: str, tmp_path: Path, by: str) -> None:
    moves = f"{FORGED} update-ref -m 'commit: me' refs/heads/main HEAD"
    forge = f"git rm -q -f src/base.py; {FORGED} commit -q -m wip; {moves}"
    project = with_check(tmp_path, forge if by == "a check" else "")
    before = state(project)
    project.play(stories={"US-001": [works(run=[["sh", "-c", forge]]) if by == "the agent" else works()]})

    project.loop()

    assert state(project) == before
    assert "wip" not in project.subjects()
    if project.landed():
        commit = project.commit_of("US-001")
        assert project.git("show", f"{commit}^:src/base.py") == "BASE = 1", "its deletion is judged"
        assert (by == "the agent") is ("src/base.py" in project.files_of(commit))


@pytest.mark.attempt(21)
def test_what_a_check_leaves_where_git_ignores_it_does_not_steer_a_persons_commands(tmp_path: Path) -> None:
    makes = "mkdir -p .claude build; ln -s / .claude/x; touch build/kept"
    leaves = f"echo 'status: ; touch evil' > GNUmakefile; {makes}"
    project = with_check(tmp_path, leaves)
    (project.repo / ".gitignore").write_text("GNUmakefile\n.claude\nbuild/\n*.log\n__pycache__/\n")
    project.git("commit", "--quiet", "-am", "chore: ignore")

    project.loop()

    assert not any((project.repo / name).exists() for name in ("GNUmakefile", ".claude", "build"))
    assert project.landed() == ["login/US-001"]


@pytest.mark.attempt(35)
def test_what_an_agent_moves_in_the_checkout_without_a_sandbox_is_said_and_flagged(tmp_path: Path) -> None:
    project = with_check(tmp_path, "")
    moves = f"{FORGED} update-ref -m 'commit: me' refs/heads/main $(git commit-tree -m x main^{{tree}})"
    forge = f"cd {project.repo}; {moves}; {FORGED} tag made main"
    project.play(stories={"US-001": [works(run=[["sh", "-c", forge]])]})

    ended = project.loop()

    assert "refs/heads/main, refs/tags/made: changed during the run, by you or, without a sandbox" in ended.text
    assert "refs/heads/main" in str(project.story("US-001")["evidence"]["warnings"])
