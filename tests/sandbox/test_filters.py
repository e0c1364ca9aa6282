"""A program that Git runs, and that lies in the working tree, is an agent's to change: it never runs outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralphy.errors import ExitCode
from ralphy.git.tree_programs import settings_in_tree, switched_off, variables_in_tree
from tests.conftest import program
from tests.engine.building import Project, build, story, works


def with_filter(tmp_path: Path, command: str) -> tuple[Project, Path]:
    """A project with a filter of the person's, and the file that its program makes when it is run from the tree."""
    canary = tmp_path / "sung"
    project = build(tmp_path, story("US-001"))
    (project.repo / "tools").mkdir()
    (project.repo / "tools" / "strip.sh").write_text("cat\n")
    (project.repo / ".gitattributes").write_text("*.py filter=strip\n")
    project.commit("chore: a filter", ".")
    project.git("config", "filter.strip.clean", command)
    evil = f"echo 'touch {canary}; cat' > tools/strip.sh; touch src/base.py"
    project.play(stories={"US-001": [works(run=[["sh", "-c", evil]])]})
    return project, canary


@pytest.mark.attempt(25)
def test_no_run_begins_where_git_runs_a_program_of_the_tree(tmp_path: Path) -> None:
    project, canary = with_filter(tmp_path, "sh tools/strip.sh")

    code, said = project.call("loop", "login")

    assert code == ExitCode.ENVIRONMENT
    assert "filter.strip.clean is 'sh tools/strip.sh'" in said
    assert "install the program outside the repository" in said
    assert project.journal("run") == []
    (project.repo / "tools" / "strip.sh").write_text(f"touch {canary}; cat\n")
    (project.repo / "src" / "base.py").write_text("BASE = 2\n")
    for words in (["status", "login"], ["status", "login"], ["why", "login"], ["approve", "login"]):
        project.call(*words)
    assert not canary.exists()


@pytest.mark.attempt(25)
def test_a_filter_from_outside_works_as_ever(tmp_path: Path) -> None:
    outside = tmp_path / "strip.sh"
    outside.write_text("sed s/WORKS/DONE/\n")
    project, canary = with_filter(tmp_path, f"sh {outside}")

    project.loop()

    assert project.git("show", f"{project.commit_of('US-001')}:src/us_001.py") == "DONE = 1"
    assert not canary.exists()


@pytest.mark.attempt(25, 74)
def test_programs_of_the_tree_are_known_however_they_are_named(tmp_path: Path) -> None:
    """Also by the words of a shell."""
    home = tmp_path / "home"
    root, tools = home / "code" / "repo", tmp_path / "bin"
    for path in (root / "tools" / "f.sh", root / "f.sh", root / ".venv" / "bin" / "strip", tools / "clean"):
        program(path, "")
    (tmp_path / "link").symlink_to(root / "f.sh")
    env = {"PATH": f"{root}/.venv/bin:{tools}:/usr/bin:/bin", "HOME": str(home)}
    inside = ["tools/f.sh", "./new.sh %f", "sh tools/f.sh", "sh f.sh", f"{root}/f.sh", f"sh -e '{root}/f.sh'", "strip",
              f"{tmp_path}/link", f"{root}/.venv/bin/python -m strip", "~/code/repo/tools/f.sh",
              "$HOME/code/repo/tools/f.sh", "sh ../repo/tools/f.sh", "sh <tools/f.sh", "cat|tools/f.sh",
              "sh -c 'cd tools && ./f.sh; cat'", "LANG=C tools/f.sh;cat", "sh -c \"$PWD/tools/f.sh\"",
              "sh -c 'cat; sh tools/f.sh'", "sh $(git rev-parse --show-toplevel)/tools/f.sh", "`pwd`/tools/f.sh",
              "${HOME}/code/repo/tools/f.sh", "env X=1 tools/f.sh"]  # fmt: skip
    outside = ["git-lfs clean -- %f", "clean", f"{tools}/clean --x", "sed s/a/b/", "python3 -m nbstripout", "cat",
               "~/bin/f.sh", "../other/f.sh", "sh -c 'sed s/x/./g; cat'", "$HOME/code/repo2/f.sh"]  # fmt: skip
    for command in (*inside, *outside):
        is_inside = bool(settings_in_tree(f"filter.x.clean\n{command}\0".encode(), root, env))
        assert is_inside is (command in inside), command
    rows = (b"credential.helper\nstore\0credential.https://x.helper\n!tools/f.sh\0core.sshcommand\nssh -i key\0"
            b"credential.helper\n!f() { tools/f.sh get; }; f\0")  # fmt: skip
    assert list(settings_in_tree(rows, root, env)) == ["credential.https://x.helper", "credential.helper"]
    assert switched_off({"filter.a.b.clean": "x", "filter.a.b.smudge": "x"})[1] == "filter.a.b.clean="
    named = {"GIT_SSH_COMMAND": "ssh -F x", "GIT_ASKPASS": "tools/f.sh", "GIT_EXEC_PATH": f"{root}/libexec"}
    assert set(variables_in_tree(root, {**env, **named})) == {"GIT_ASKPASS", "GIT_EXEC_PATH"}
