"""Files of Git LFS: what an agent writes into one lands as a pointer, and its content is where the person's lie."""

from __future__ import annotations

import hashlib
import shlex
import sys
from pathlib import Path

import pytest

from ralphy.errors import EnvironmentProblem, ExitCode
from tests.doubles import git_lfs
from tests.engine.building import Project, build, story, works
from tests.sampling import sampled

CHECK = """
from pathlib import Path
exec(compile(Path("src/base.py").read_text(), "base", "exec"))
for path in Path(".").glob("*.bin"):
    assert not path.read_text().startswith("version "), f"{path} is a pointer"
"""
TEXT = "the picture\n" * 100


@pytest.fixture(params=sampled(["none", "sandbox"], "sandbox"))
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Project:
    """A repository with one large file, in each kind of lane; its checks want contents, not pointers."""
    if request.param == "sandbox":
        request.getfixturevalue("sandbox")
    project = build(
        tmp_path,
        story("US-001"),
        story("US-002", priority=2),
        limits={"max_attempts": 2},
        gates={"spec": "auto", "qa": "auto"},
    )
    for verb in ("clean", "smudge"):
        words = [sys.executable, "-I", "-S", git_lfs.__file__, verb]
        project.git("config", f"filter.lfs.{verb}", shlex.join(words))
    project.git("config", "filter.lfs.required", "true")
    (project.repo / ".gitattributes").write_text("*.bin filter=lfs -text\n", encoding="utf-8")
    (project.repo / "old.bin").write_text("old\n", encoding="utf-8")
    (project.repo / "check.py").write_text(CHECK, encoding="utf-8")
    project.commit("feat: a picture")
    return project


def is_stored(project: Project, text: str) -> bool:
    digest = hashlib.sha256(text.encode()).hexdigest()
    at = project.repo / ".git" / "lfs" / "objects" / digest[:2] / digest[2:4] / digest
    return at.is_file() and at.read_text(encoding="utf-8") == text


def pointer_to(text: str) -> str:
    return git_lfs.pointer(hashlib.sha256(text.encode()).hexdigest(), len(text)).decode()


def test_a_large_file_lands_with_its_content_and_a_pointer_to_nothing_is_refused(project: Project) -> None:
    project.add_remote(project.repo.parent / "remote.git")
    broken = {"write": {"new.bin": TEXT, "src/base.py": "BROKEN = (\n"}}
    project.play(stories={"US-001": [works(**broken), works(write={"src/base.py": "BASE = 2\n"})],
                          "US-002": [works(write={"lost.bin": pointer_to("lost\n")}),
                                     works(write={"old.bin": "now\n"}, delete=["lost.bin"])]})  # fmt: skip

    ended = project.loop()

    assert "lost.bin is a pointer of Git LFS to content that nobody has: write the file itself" in ended.text
    assert project.landed() == ["login/US-001", "login/US-002"]
    assert project.code("new.bin") == pointer_to(TEXT)
    assert project.code("old.bin") == pointer_to("now\n")
    assert is_stored(project, TEXT) and is_stored(project, "now\n")
    upload = "run `git lfs push origin ralph/login`"
    assert f"new.bin, old.bin are in Git LFS, which Ralphy does not upload; {upload}" in ended.text
    project.switch(project.branch)
    assert (project.repo / "new.bin").read_text(encoding="utf-8") == TEXT
    assert project.git("status", "--porcelain") == ""


@pytest.mark.parametrize("project", ["none"], indirect=True)
def test_a_pointer_that_moves_without_its_content_is_let_through(project: Project) -> None:
    (project.repo / "check.py").write_text("", encoding="utf-8")
    project.git("config", "--unset", "filter.lfs.required")
    (project.repo / "far.bin").write_text(pointer_to("lost\n"), encoding="utf-8")
    project.commit("feat: a picture that is elsewhere", "far.bin", "check.py")
    moves = works(run=[["mv", "far.bin", "moved.bin"]])
    project.play(stories={"US-001": [moves], "US-002": [works()]})

    project.loop(agents=1)

    assert project.code("moved.bin") == pointer_to("lost\n")


@pytest.mark.parametrize("project", ["none", "sandbox"], indirect=True)
def test_no_agent_is_paid_where_git_lfs_is_not_installed(project: Project) -> None:
    """Git's settings name it, as `git lfs install` wrote them: Git says what it cannot start."""
    for verb in ("clean", "smudge"):
        project.git("config", f"filter.lfs.{verb}", f"git-lfs-of-nobody {verb} -- %f")

    with pytest.raises(EnvironmentProblem, match="git-lfs-of-nobody: not found"):
        project.loop()

    assert project.journal("run") == []


@pytest.mark.parametrize("project", ["none", "sandbox"], indirect=True)
def test_no_agent_is_paid_where_checks_find_a_pointer_in_the_place_of_a_file(project: Project) -> None:
    """Nothing of Git LFS is set up: the checkout has pointers, and so have lanes."""
    project.git("config", "--remove-section", "filter.lfs")

    ended = project.loop()

    assert ended.code == ExitCode.CONFLICT
    assert "old.bin is a pointer" in ended.text
    assert project.journal("run") == []
