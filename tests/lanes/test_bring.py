"""What comes along into a lane: what Git ignores, chosen, copied without following a link, and only what changed."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path

import pytest

from ralphy.git.commands import discover
from ralphy.lanes.bring import Brought, bring, scratch, select
from ralphy.lanes.ignored import AUTO
from tests.conftest import RunGit

IGNORED = """\
.venv/*
node_modules
*.egg-info
.env*
*.sqlite3
__pycache__/
build/
*.log
data/
_version.py
local/
docs/features/x/.ralphy/
link
pipe
sub/
"""


@pytest.fixture
def checkout(git_repo: Path) -> Path:
    """The small repository with a virtual environment, Node's packages and what else lies about."""
    files = {
        ".gitignore": IGNORED,
        "web/package.json": "{}",
        ".venv/pyvenv.cfg": "home = /usr/bin\n",
        ".venv/lib/site-packages/dep/__init__.py": "VALUE = 1\n",
        ".venv/lib/site-packages/dep/__pycache__/x.pyc": "bytes",
        "web/node_modules/left-pad/index.js": "module.exports = 1\n",
        "repo.egg-info/PKG-INFO": "Name: repo\n",
        ".env": "KEY=value\n",
        "local.sqlite3": "rows",
        "__pycache__/calc.pyc": "bytes",
        "build/out.o": "bytes",
        "run.log": "text",
        "data/one.json": "1",
        "data/deep/two.json": "2",
        "_version.py": "version = '1'\n",
        "docs/features/x/.ralphy/outbox/a": "x",
        ".ralphy/set-aside": "x",
    }
    for name, text in files.items():
        write(git_repo / name, text)
    return git_repo


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def looked(root: Path, *patterns: str, most: int = 20 << 30) -> list[Brought]:
    return select(discover(root), "docs/features", patterns or (AUTO,), most)[0]


def left_behind(root: Path, *patterns: str, most: int = 20 << 30) -> list[str]:
    return select(discover(root), "docs/features", patterns or (AUTO,), most)[1]


def names(brought: Sequence[Brought]) -> list[str]:
    return [one.path for one in brought]


def a_lane(tmp_path: Path) -> Path:
    tree = tmp_path / "lanes" / "1" / "tree"
    tree.mkdir(parents=True, exist_ok=True)
    return tree


def copied(root: Path, tree: Path, *patterns: str, keeps_changes: bool = False) -> list[str]:
    """What is copied; nothing is left out."""
    done, failed = bring(looked(root, *patterns), root, tree, os.environ, keeps_changes=keeps_changes)
    assert failed == []
    return done


DEFAULT = [".env", ".venv", "_version.py", "local.sqlite3", "repo.egg-info", "web/node_modules"]


def test_the_default_takes_what_checks_need_and_no_cache_log_or_feature(checkout: Path) -> None:
    brought = looked(checkout)
    assert names(brought) == DEFAULT
    assert [one.path for one in brought if one.is_dependency] == [".venv", "repo.egg-info", "web/node_modules"]
    assert not any(one.path.startswith(("docs", ".ralphy", ".git/")) for one in brought)
    assert left_behind(checkout) == ["data is not copied into lanes: add it to lanes.bring if the checks need it"]


@pytest.mark.parametrize("name", ["rehearsal.yaml", "rehearsal.yml", "rehearsal.json"])
def test_the_scenario_of_a_rehearsal_comes_along(checkout: Path, name: str) -> None:
    write(checkout / ".ralphy" / ".gitignore", "*\n")
    write(checkout / ".ralphy" / name, "{}")
    assert names(looked(checkout)) == sorted([*DEFAULT, f".ralphy/{name}"])


def test_a_virtual_environment_may_have_any_name(checkout: Path) -> None:
    write(checkout / "build" / "py311" / "pyvenv.cfg", "")
    write(checkout / "local" / "pyvenv.cfg", "")
    assert [one.is_dependency for one in looked(checkout) if one.path == "local"] == [True]
    assert "build" not in names(looked(checkout))


def test_a_folder_of_dependencies_with_tracked_files_comes_in_parts(checkout: Path, git: RunGit) -> None:
    write(checkout / ".venv" / "README", "tracked\n")
    git("add", "--force", ".venv/README", cwd=checkout)
    assert ".venv" not in names(looked(checkout))
    assert {".venv/lib", ".venv/pyvenv.cfg"} <= set(names(looked(checkout)))


def test_globs_replace_the_default_and_nothing_is_taken_for_none(checkout: Path) -> None:
    assert names(looked(checkout, ".env", "data/deep/*.json")) == [".env", "data/deep/two.json"]
    assert names(looked(checkout, AUTO, "build/")) == sorted([*DEFAULT, "build"])
    assert [one.is_dependency for one in looked(checkout, ".venv", "_version.py")] == [True, False]
    assert select(discover(checkout), "docs/features", ()) == ([], [])


def test_a_glob_that_names_nothing_is_said(checkout: Path) -> None:
    assert left_behind(checkout, "dta/*.json") == [
        "dta/*.json is not copied into lanes: matches nothing that Git ignores here"
    ]


@pytest.mark.parametrize(("pattern", "named"), [
    (".env*", [".env", "web/.env.local"]), ("/.env", [".env"]), ("data/*.json", ["data/one.json"]),
    ("data/**", ["data/[.txt", "data/b.txt", "data/deep", "data/one.json"]),
    ("**/deep/*.json", ["data/deep/two.json"]), ("data/[ab].txt", ["data/b.txt"]), ("data/[!ab].txt", ["data/[.txt"]),
    ("src/*", []), ("../*", []), ("data/d*/", ["data/deep"]), ("data/**.json", ["data/one.json"]),
    ("d**a/***", ["data/[.txt", "data/b.txt", "data/deep", "data/one.json"]), ("./data//b*", ["data/b.txt"]),
    ("./.", []), ("data/[", []), ("[", []), (".e**", [".env", "web/.env.local"]),
])  # fmt: skip
def test_a_glob_names_what_git_ignores_the_topmost_of_it(checkout: Path, pattern: str, named: list[str]) -> None:
    for name in ("web/.env.local", "data/b.txt", "data/[.txt"):
        write(checkout / name, "x")
    assert names(looked(checkout, pattern)) == named


def test_the_room_is_given_to_dependencies_first_and_the_rest_is_said(checkout: Path) -> None:
    write(checkout / "local.sqlite3", "x" * 5000)
    write(checkout / "web" / "node_modules" / "big.js", "x" * 3000)
    brought = looked(checkout, most=4000)
    assert "web/node_modules" in names(brought)
    assert "local.sqlite3 is not copied into lanes: 0 MB: more than the rest of lanes.max_gb" in left_behind(
        checkout, most=4000
    )


def test_a_large_file_of_something_else_is_left_and_said(checkout: Path) -> None:
    with (checkout / "_version.py").open("wb") as file:
        file.truncate(60 << 20)
    assert "_version.py" not in names(looked(checkout))
    assert "60 MB: add it to lanes.bring" in left_behind(checkout)[0]
    assert "_version.py" in names(looked(checkout, "_version.py"))


def test_copies_have_bytes_modes_and_times_and_are_no_hard_links(checkout: Path, tmp_path: Path) -> None:
    tool = checkout / ".venv" / "bin" / "tool"
    write(tool, "#!/bin/sh\n")
    tool.chmod(0o755)
    os.utime(tool, ns=(1_600_000_000_123_456_789,) * 2)
    tree = a_lane(tmp_path)
    copied(checkout, tree)
    made = (tree / ".venv" / "bin" / "tool").stat()
    assert (made.st_mode, made.st_mtime_ns, made.st_nlink) == (tool.stat().st_mode, 1_600_000_000_123_456_789, 1)
    assert (tree / ".env").read_text(encoding="utf-8") == "KEY=value\n"
    assert made.st_ino != tool.stat().st_ino
    assert not (tree / "build").exists()


def test_only_what_changed_on_either_side_is_copied_again(checkout: Path, tmp_path: Path) -> None:
    tree = a_lane(tmp_path)
    assert copied(checkout, tree) == DEFAULT
    assert copied(checkout, tree) == []
    write(checkout / ".env", "KEY=other\n")
    (checkout / "web" / "node_modules" / "left-pad" / "index.js").unlink()
    assert copied(checkout, tree) == [".env", "web/node_modules"]
    assert not (tree / "web" / "node_modules" / "left-pad" / "index.js").exists()
    dep = tree / ".venv" / "lib" / "site-packages" / "dep" / "__init__.py"
    before = dep.stat()
    dep.write_text("VALUE = 2\n", encoding="utf-8")  # as long as the original, with its time
    os.utime(dep, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert copied(checkout, tree) == [".venv"]
    assert dep.read_text(encoding="utf-8") == "VALUE = 1\n"
    write(tree / ".venv" / "lib" / "site-packages" / "planted.pth", "import os\n")
    assert copied(checkout, tree) == [".venv"]
    assert not (dep.parents[1] / "planted.pth").exists()


def test_what_setup_did_to_the_copies_stays_until_the_originals_change(checkout: Path, tmp_path: Path) -> None:
    tree = a_lane(tmp_path)
    assert copied(checkout, tree, keeps_changes=True) == DEFAULT
    packages = tree / ".venv" / "lib" / "site-packages"
    write(packages / "installed.py", "mine\n")
    write(packages / "dep" / "__init__.py", "VALUE = 2, by setup\n")
    assert copied(checkout, tree, keeps_changes=True) == []
    assert (packages / "installed.py").exists()
    write(checkout / ".venv" / "lib" / "site-packages" / "dep" / "__init__.py", "VALUE = 3\n")
    assert copied(checkout, tree, keeps_changes=True) == [".venv"]
    assert (packages / "dep" / "__init__.py").read_text(encoding="utf-8") == "VALUE = 3\n"
    shutil.rmtree(tree / ".venv")
    assert copied(checkout, tree, keeps_changes=True) == [".venv"]


def test_nothing_is_written_through_what_an_agent_put_in_the_way(checkout: Path, tmp_path: Path) -> None:
    tree, outside = a_lane(tmp_path), tmp_path / "outside"
    write(outside / "left-pad" / "index.js", "mine\n")
    (tree / "web").symlink_to(outside)
    (outside / "node_modules").mkdir()
    write(outside / "secret", "mine\n")
    (tree / ".env").symlink_to(outside / "secret")
    os.mkfifo(tree / "local.sqlite3")
    (tree / ".venv" / "lib").mkdir(parents=True)
    (tree / ".venv" / "lib").chmod(0)
    (tree / "_version.py").mkdir()
    copied(checkout, tree)
    assert sorted(path.name for path in outside.rglob("*")) == ["index.js", "left-pad", "node_modules", "secret"]
    assert (outside / "secret").read_text(encoding="utf-8") == "mine\n"
    assert (tree / ".env").read_text(encoding="utf-8") == "KEY=value\n"
    assert stat.S_ISREG((tree / "local.sqlite3").lstat().st_mode)
    assert (tree / ".venv" / "lib" / "site-packages" / "dep" / "__init__.py").is_file()
    assert not (tree / "web").is_symlink()


def test_links_are_copied_as_links_and_one_that_leads_out_of_the_checkout_is_left(
    checkout: Path, tmp_path: Path
) -> None:
    write(tmp_path / "elsewhere" / "secret", "")
    links = {".venv/lib64": "lib", "web/node_modules/far": "../../../elsewhere", "web/node_modules/own": "../x"}
    for name, target in {**links, "link": str(tmp_path / "elsewhere")}.items():
        (checkout / name).symlink_to(target)
    tree = a_lane(tmp_path)
    copied(checkout, tree)
    assert {name: str((tree / name).readlink()) for name in links} == links
    assert not os.path.lexists(tree / "link")
    why = f"is not copied into lanes: a link out of the checkout, to {tmp_path}/elsewhere"
    assert f"link {why}" in left_behind(checkout)
    (checkout / "data" / "far").symlink_to(tmp_path / "elsewhere")
    assert left_behind(checkout, "data/far/*") == [f"data/far/secret {why}/secret"]


def test_a_fifo_keeps_nobody_waiting(checkout: Path, tmp_path: Path) -> None:
    os.mkfifo(checkout / "pipe")
    os.mkfifo(checkout / "data" / "inner")
    tree = a_lane(tmp_path)
    copied(checkout, tree, AUTO, "data")
    assert not os.path.lexists(tree / "pipe")
    assert (tree / "data" / "one.json").read_text() == "1"


def test_a_repository_in_dependencies_comes_without_its_git_folder(checkout: Path, tmp_path: Path, git: RunGit) -> None:
    git("init", "--quiet", cwd=checkout / ".venv" / "lib" / "site-packages" / "dep")
    tree = a_lane(tmp_path)
    copied(checkout, tree)
    assert not list(tree.rglob(".git"))
    assert copied(checkout, tree) == []


def test_what_cannot_be_copied_is_told_and_names_may_be_any_bytes(checkout: Path, tmp_path: Path) -> None:
    odd = os.fsdecode(b"data/\xff\n.bin")
    write(checkout / odd, "x")
    deep = checkout / "data" / "/".join(["d"] * 220)
    write(deep / "end", "x")
    tree = a_lane(tmp_path)
    copied(checkout, tree, "data")
    assert (tree / odd).is_file()
    assert (tree / "data" / "/".join(["d"] * 220) / "end").is_file()
    assert copied(checkout, tree, "data") == []
    brought = looked(checkout, "data")
    shutil.rmtree(checkout / "data")
    ((path, why),) = bring(brought, checkout, tree, os.environ)[1]
    assert (path, "No such file" in why) == ("data", True)


def test_a_copy_that_was_cut_off_is_not_taken_for_a_whole_one(checkout: Path, tmp_path: Path) -> None:
    tree, brought = a_lane(tmp_path), looked(checkout, ".venv")
    assert copied(checkout, tree, ".venv", keeps_changes=True) == [".venv"]
    shutil.rmtree(tree / ".venv")
    write(tmp_path / "bin" / "cp", '#!/bin/sh\nfor place; do :; done\nmkdir "$place"\nkill -9 $$\n')
    (tmp_path / "bin" / "cp").chmod(0o755)
    dying = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    assert bring(brought, checkout, tree, dying, keeps_changes=True)[1] == [(".venv", "cp ended with -9")]
    assert (tree / ".venv").is_dir()
    assert copied(checkout, tree, ".venv", keeps_changes=True) == [".venv"]
    assert (tree / ".venv" / "lib" / "site-packages" / "dep" / "__init__.py").is_file()


def test_a_lane_that_is_not_bound_at_the_checkout_has_no_link_into_it(checkout: Path, tmp_path: Path) -> None:
    (checkout / ".venv" / "own").symlink_to(checkout / "src")
    (checkout / ".venv" / "program").symlink_to("/bin/sh")
    tree = a_lane(tmp_path)
    bring(looked(checkout, ".venv"), checkout, tree, os.environ, is_bound=False)
    assert (tree / ".venv" / "own").readlink() == tree / "src"
    assert (tree / ".venv" / "program").readlink() == Path("/bin/sh")


def test_dependencies_can_be_bound_with_room_for_what_tools_write_there(checkout: Path) -> None:
    (checkout / "web" / "node_modules" / ".cache").mkdir()
    names = [".venv", "repo.egg-info", "web/node_modules"]
    bound = [(checkout / name, checkout / name) for name in names]
    modules = checkout / "web" / "node_modules"
    assert scratch(bound) == [modules / ".cache"]
    (modules / "vite").mkdir()
    assert scratch(bound) == [modules / ".cache", modules / ".vite-temp"]
