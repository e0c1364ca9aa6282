"""The candidate: what is tested is what is committed, whatever an agent does to files and to git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ralphy.errors import ExitCode
from tests.engine.building import Act, Project, assert_clean, breaks, build, story, works

NESTED = [["git", "init", "--quiet", "lib"], ["git", "-C", "lib", "commit", "--quiet", "--allow-empty", "-mx"]]
HIDE = ["git", "update-index"]
# what an agent does, and why it is refused
REFUSED: dict[str, tuple[Act, str]] = {
    "a nested repository": ({"run": NESTED}, "lib is a nested repository"),
    "one in its own commit": (
        {"run": [*NESTED, ["git", "add", "-A"], ["git", "commit", "--quiet", "-m", "lib"]]},
        "lib is a nested repository"),
    "a link to the machine": ({"run": ["ln", "-s", "/etc/hostname", "out"]}, "out is a link out of the repository"),
    "a link beside": ({"run": ["ln", "-s", "../outside", "out"]}, "out is a link out of the repository"),
    "what index bits hide": (
        {"run": [[*HIDE, "--assume-unchanged", "src/base.py"], [*HIDE, "--skip-worktree", "check.py"]],
         "append": {"src/base.py": "BROKEN = 1\n", "check.py": "\n# nothing\n"}}, "src/base.py::works"),
    "new folders": ({"append": {"deep/er/file.py": "D = 1\n", "src/base.py": "BROKEN = 1\n"}}, "src/base.py::works"),
}  # fmt: skip


@pytest.mark.fault("G12")
@pytest.mark.attempt(48)
def test_what_is_refused_does_not_stay(tmp_path: Path) -> None:
    names = {f"US-00{number}": row for number, row in enumerate(REFUSED.values(), start=1)}
    project = build(tmp_path, *map(story, [*names, "last"]), limits={"max_attempts": 1}, breaker={"enabled": False})
    project.play(stories={**{name: [works(**act)] for name, (act, _) in names.items()}, "last": [works()]})

    project.loop(agents=7)

    for name, (_, why) in names.items():
        assert why in project.story(name)["execution"]["last_error"]
    assert project.landed() == ["login/last"]
    assert project.files_of(project.commit_of("last"))[-1:] == ["src/last.py"]
    assert project.code_files() == [".gitignore", ".ralphy/config.yaml", "check.py", "src/base.py", "src/last.py"]
    assert project.git("show", "refs/ralphy/login/US-001/attempt-1:src/us_001.py") == "WORKS = 1"
    assert project.git("ls-files", "-v", "src/base.py", "check.py") == "H check.py\nH src/base.py"
    assert_clean(project)


@pytest.mark.fault("G12")
def test_what_an_agent_writes_into_a_submodule_is_not_committed_and_one_that_is_not_initialised_is_named(
    tmp_path: Path,
) -> None:
    check = [{"name": "test", "run": "sh -c 'test -e lib/check.py && test ! -e lib/more.py'"}]
    project = build(tmp_path, story("US-001"), checks=check, limits={"max_attempts": 1})
    for name in ("lib", "far"):
        project.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./.git", name)
    project.git("commit", "--quiet", "-m", "chore: two libraries")
    project.git("update-index", "--cacheinfo", f"160000,{'1' * 40},far")
    project.git("commit", "--quiet", "-m", "chore: another commit of it")
    before = project.git("rev-parse", "main:lib")
    project.play(stories={"US-001": [works(append={"lib/more.py": "# more\n"})]})

    ended = project.loop(agents=1)

    assert ("far is an empty folder in lanes: the commit of the submodule is not in your checkout; "
            "git submodule update --init far") in ended.said  # fmt: skip
    assert "not taken: lib/ (a submodule)" in ended.said
    warnings = project.story("US-001")["evidence"]["warnings"]
    assert "changed in the lane, and not taken: lib/ (a submodule)" in warnings
    assert project.landed() == ["login/US-001"]
    assert project.git("rev-parse", f"{project.branch}:lib") == before
    assert not (project.repo / "lib" / "more.py").exists()
    assert project.git("status", "--porcelain", "--", "lib", "src") == ""


@pytest.mark.fault("G5", "G17")
def test_checks_see_neither_what_an_agent_left_ignored_nor_what_a_person_hides_by_index_bits(tmp_path: Path) -> None:
    check = "test ! -e secret.log -a ! -e src/.pytest_cache -a ! -e src/__pycache__"
    project = build(tmp_path, story("US-001"), checks=[{"name": "test", "run": check}])
    (project.repo / "mine.log").write_text("a person's\n")
    project.git("update-index", "--assume-unchanged", "src/base.py")
    (project.repo / "src" / "base.py").write_text("MINE = 1\n")
    left = {"secret.log": "s", "src/.pytest_cache/x.log": "", "src/__pycache__/base.pyc": "B", "src/a.py": "A = 1\n"}
    project.play(stories={"US-001": [works(write=left)]})

    project.loop(agents=1)

    assert project.landed() == ["login/US-001"]
    assert "src/a.py" in project.code_files()
    assert not {"secret.log", "src/.pytest_cache/x.log", "src/__pycache__/base.pyc"} & set(project.code_files())
    assert (project.repo / "mine.log").read_text() == "a person's\n"
    assert (project.repo / "src" / "base.py").read_text() == "MINE = 1\n"
    assert project.code("src/base.py") == "BASE = 1\n"
    assert project.git("ls-files", "-v", "src/base.py") == "h src/base.py"
    assert_clean(project)


GIT = [
    ["git", "tag", "mine"],
    ["git", "config", "core.hooksPath", "hooks"],
    ["git", "remote", "add", "evil", "/nowhere"],
    ["git", "stash", "--quiet", "--all"],
    ["git", "stash", "apply", "--quiet"],
    ["git", "reset", "--quiet", "--soft", "HEAD~1"],
    ["git", "checkout", "--quiet", "-b", "elsewhere"],
    ["git", "branch", "-D", "ralph/login"],
    ["sh", "-ec", "cd $(git rev-parse --absolute-git-dir); mkdir -p refs/heads/ralph; "
                  "touch index.lock HEAD.lock config.lock refs/heads/ralph/login.lock"],
]  # fmt: skip
NAMES = ["src/with space.py", "src/é.py", 'src/quo"te.py', "src/new\nline.py", "-x.py", "src/[a]*.py", "src/b\\c.py"]
CONTROL = [".ralphy/prompts/x", "docs/features/login/new.md", "docs/features/other/APPROVED"]
FILES = [
    ["python3", "-c", "open(b'src/\\xff.py', 'w').write('X = 1')"],
    ["ln", "-s", "../check.py", "src/check"],
    ["sh", "-c", "mkdir .husky; echo 'exit 0' > .husky/post-merge"],
    ["git", "mv", "src/base.py", "src/Base.py"],
]
MEDDLING: dict[str, Act] = {
    "US-001": works(),
    "US-002": works(run=GIT),
    "US-003": works(cheat={"forge_trailer": True}),
    "US-004": works(write=dict.fromkeys([*NAMES, *CONTROL], "X = 1\n"), run=FILES),
}


@pytest.mark.fault("G16", "G1", "G12", "G17")
@pytest.mark.attempt(58)
def test_what_an_agent_does_to_git_has_no_effect_outside_of_its_lane(tmp_path: Path) -> None:
    project = build(tmp_path, *map(story, MEDDLING))
    configuration = (project.repo / ".git" / "config").read_bytes()
    project.play(stories={name: [act] for name, act in MEDDLING.items()})

    project.loop(agents=len(MEDDLING))

    assert project.landed() == [f"login/{name}" for name in MEDDLING]
    assert {project.trailer("Ralphy-Attempt", project.commit_of(name)) for name in MEDDLING} == {"1"}
    assert {f"src/us_00{n}.py" for n in range(1, 4)} <= set(project.code_files(project.commit_of("US-003")))
    assert project.git("symbolic-ref", "--short", "HEAD") == "main"
    assert project.refs("refs/heads") == ["refs/heads/main", "refs/heads/ralph/login"]
    assert project.refs("refs/tags") == project.refs("refs/stash") == []
    assert (project.repo / ".git" / "config").read_bytes() == configuration
    assert len(project.subjects("feat(login): US-003")) == 1  # the agent had committed with Ralphy's trailers
    assert project.trailer("Ralphy-Run", project.commit_of("US-003")) == project.journal("run")[2]["run"]
    assert project.git("ls-tree", project.branch, "src/check").startswith("120000 blob")
    assert {project.code(name) for name in NAMES} == {"X = 1\n"}
    assert '"src/\\377.py"' in project.files_of(project.tip)
    (warning,) = [one for one in project.story("US-004")["evidence"]["warnings"] if "not taken" in one]
    assert warning == f"changed in the lane, and not taken: {', '.join(CONTROL)}"
    assert project.code(".husky/post-merge") == "exit 0\n"
    renamed = project.git("ls-tree", "--name-only", project.branch, "src/").split()
    assert "src/Base.py" in renamed and "src/base.py" not in renamed
    assert_clean(project)


def _with_two_folders(tmp_path: Path, *stories: Act, **settings: Any) -> Project:
    """`lib` and `vendored`, with a file of the same name in each."""
    project = build(tmp_path, *stories, limits={"max_attempts": 2, "max_splits": 0}, **settings)
    for folder in ("lib", "vendored"):
        (project.repo / folder).mkdir()
        (project.repo / folder / "same.py").write_text(f"PLACE = '{folder}'\n", encoding="utf-8")
    project.commit("chore: two folders", "lib", "vendored")
    return project


_LINK = [["rm", "-r", "lib"], ["ln", "-s", "vendored", "lib"]]


def test_files_folders_and_links_may_take_each_others_place(tmp_path: Path) -> None:
    green = [{"name": "test", "run": "true"}]
    project = _with_two_folders(tmp_path, *(story(f"US-00{n}") for n in range(1, 5)), checks=green)
    project.play(stories={
        "US-001": [{"run": [["rm", "src/base.py"], ["mkdir", "src/base.py"], ["cp", "check.py", "src/base.py/in.py"]]}],
        "US-002": [{"run": [["rm", "-r", "src/base.py"], ["cp", "lib/same.py", "src/base.py"]]}],
        "US-003": [works(run=_LINK)],
        "US-004": [works(run=[["rm", "lib"], ["mkdir", "lib"], ["cp", "vendored/same.py", "lib/same.py"]])],
    })  # fmt: skip

    project.loop(agents=4)

    assert project.landed() == [f"login/US-00{n}" for n in range(1, 5)]
    commits = [project.commit_of(f"US-00{n}") for n in range(1, 5)]
    trees = [
        project.git("ls-tree", "-r", "--format=%(objectmode) %(path)", one, "src/base.py", "lib") for one in commits
    ]
    assert trees[0] == "100644 lib/same.py\n100644 src/base.py/in.py"
    assert trees[1] == "100644 lib/same.py\n100644 src/base.py"
    assert trees[2] == "120000 lib\n100644 src/base.py"
    assert trees[3] == "100644 lib/same.py\n100644 src/base.py"
    assert {project.git("show", f"{one}:vendored/same.py") for one in commits[2:]} == {"PLACE = 'vendored'"}
    assert_clean(project)


def test_nothing_is_touched_beyond_a_link_that_took_the_place_of_a_folder(tmp_path: Path) -> None:
    project, outer = build(tmp_path, story("US-001"), limits={"max_attempts": 1, "max_file_mb": 1}), tmp_path / "outer"
    for folder in (project.repo / "lib", outer):
        folder.mkdir()
        for name in ("pipe", "large", "same.py"):
            (folder / name).write_text(f"PLACE = '{folder.name}'\n", encoding="utf-8")
    project.commit("chore: a folder", "lib")
    (outer / "pipe").unlink()
    os.mkfifo(outer / "pipe")
    (outer / "large").write_bytes(b"l" * 2_000_000)
    (outer / "__pycache__").mkdir()
    (outer / "__pycache__" / "same.cpython-311.pyc").write_bytes(b"compiled")
    subprocess.run(["git", "init", "--quiet", str(outer)], check=True)
    before = {path: path.lstat().st_ctime_ns for path in outer.rglob("*")}
    project.play(stories={"US-001": [works(run=[["rm", "-r", "lib"], ["ln", "-s", str(outer), "lib"]])]})

    project.loop(agents=1)

    assert "lib is a link out of the repository" in project.story("US-001")["execution"]["last_error"]
    assert {path: path.lstat().st_ctime_ns for path in outer.rglob("*")} == before
    assert project.code("lib/same.py") == "PLACE = 'lib'\n"
    assert_clean(project)


@pytest.mark.fault("G17")
@pytest.mark.parametrize("by", ["the settings of a person", "the attributes of a story"])
def test_line_endings_are_stored_as_git_would(tmp_path: Path, by: str) -> None:
    project = build(tmp_path, story("US-001"), story("US-002"))
    attributes = {".gitattributes": "*.py text\n"}
    if by == "the settings of a person":
        project.git("config", "core.autocrlf", "true")
        attributes = {}
    lines = {"src/{{slug}}.py": "A = 1\r\nB = 2\r\n"}
    project.play(stories={"US-001": [works(append=attributes)], "US-002": [{"write": lines}]})

    project.loop(agents=2)

    assert project.git("cat-file", "-s", f"{project.branch}:src/us_002.py") == "12"
    assert project.landed() == ["login/US-001", "login/US-002"]
    assert_clean(project)


@pytest.mark.fault("G12")
def test_a_linked_worktree_of_a_repository_with_long_object_names_is_worked_in_like_any_checkout(
    tmp_path: Path,
) -> None:
    project = build(tmp_path, story("US-001"), story("US-002"), object_format="sha256")
    project.play(stories={"US-001": [breaks(), works()], "US-002": [works(commit="wip")]})
    project.git("worktree", "add", "--quiet", str(tmp_path / "beside"), "-b", "side")
    (tmp_path / "beside" / "docs" / "features").mkdir(parents=True)
    project.folder.rename(tmp_path / "beside" / "docs" / "features" / "login")
    before = project.git("rev-parse", "HEAD")
    home, project.repo = project.repo, tmp_path / "beside"

    assert project.loop().code == ExitCode.WAITING

    assert project.landed() == ["login/US-001", "login/US-002"]
    assert len(project.tip) == 64
    assert project.git("status", "--porcelain") == ""
    assert project.git("fsck", "--strict", "--no-dangling") == ""
    project.repo = home
    assert project.git("rev-parse", "HEAD") == before
    assert project.git("status", "--porcelain") == ""


def test_what_an_attempt_had_git_ignore_goes_with_the_attempt(tmp_path: Path) -> None:
    """By the rules of the green commit it is a new file, which the next attempt finds in no lane."""
    check = "sh -c '! grep -q BROKEN src/new.py 2>/dev/null && test ! -e src/toy/words.py -a ! -e target'"
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 2}, checks=[{"name": "test", "run": check}])
    ignore = "__pycache__/\n*.log\nsrc/toy/\ntarget/\n"
    made = {"src/toy/words.py": "W = 1\n", "target/deep/gen.py": "G = 1\n"}
    first = {"write": {".gitignore": ignore, "src/new.py": "BROKEN\n", **made}}
    project.play(stories={"US-001": [first, {"write": {"src/new.py": "OK\n"}}]})

    ended = project.loop(agents=2)

    assert project.landed() == ["login/US-001"], ended.text
    assert not set(made) & set(project.code_files())
    assert not any((project.repo / name).exists() for name in made)
    assert_clean(project)
