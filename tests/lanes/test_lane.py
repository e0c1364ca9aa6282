"""A lane as its user meets it: what is laid out is there, what was changed is taken over, whatever an agent did."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ralphy.lanes import git_inside
from ralphy.lanes import lane as lane_module
from ralphy.lanes.git_inside import LaneProblem
from ralphy.sandbox.bubblewrap import interpreter
from tests.lanes.conftest import LIMITS, World


def files_in(tree: Path) -> dict[str, str]:
    found = (path for path in tree.rglob("*") if ".git" not in path.relative_to(tree).parts)
    return {str(path.relative_to(tree)): path.read_text() for path in found if path.is_file()}


def test_what_is_laid_out_is_the_tree_and_nothing_else(world: World) -> None:
    lane = world.laid_out()
    assert files_in(lane.tree) == files_in(world.root)
    old = world.tree
    world.commit({"src/a.py": "a = 3\n", "new/c.py": "c\n"})
    world.laid_out()
    assert files_in(lane.tree) == files_in(world.root)
    same = (lane.tree / "run.sh").stat()
    lane.lay_out(old, world.head, "main")
    assert (lane.tree / "run.sh").stat() == same
    assert not (lane.tree / "new").exists()


def test_changes_are_taken_over(world: World) -> None:
    lane, base = world.laid_out(), world.tree
    script = (
        "echo x > src/a.py; rm src/deep/b.py; chmod +x run.sh; echo n > new.py; ln -s src/a.py link; echo l > x.log"
    )
    code, said = world.inside(lane, f"{script}; git add -A; git stash -q; git stash pop -q")
    assert code == 0, said
    taken = lane.take_over(base, LIMITS)
    rows = world.git("diff-tree", "-r", "--raw", "--abbrev=4", base, taken.tree).splitlines()
    assert [(row.split()[1], row.split("\t")[1], row.split()[4]) for row in rows] == [
        ("120000", "link", "A"), ("100644", "new.py", "A"), ("100755", "run.sh", "M"), ("100644", "src/a.py", "M"),
        ("000000", "src/deep/b.py", "D"),
    ]  # fmt: skip
    assert world.git("cat-file", "-p", f"{taken.tree}:src/a.py") == "x"
    assert lane.take_over(base, LIMITS) == taken
    lane.lay_out(taken.tree, world.head, "main")
    assert lane.take_over(taken.tree, LIMITS).tree == taken.tree


def test_a_change_that_hides_behind_rules_is_undone(world: World) -> None:
    """Git that compared files by rules that somebody left would take this one for what is committed."""
    lane = world.laid_out()
    (lane.tree / ".gitattributes").write_text("*.py text\n")
    (lane.tree / "src/a.py").write_bytes(b"a = 1\r\n")
    world.laid_out()
    assert (lane.tree / "src/a.py").read_bytes() == b"a = 1\n"


def test_programs_see_the_branch_and_may_commit(world: World) -> None:
    world.git("tag", "v1")
    lane = world.laid_out()
    code, said = world.inside(lane, "git status --short -b; git log -1 --format=%s; git tag; git remote; echo x > y; "
                                    "git add y; git commit -qm mine; git log -1 --format=%s; pwd")  # fmt: skip
    assert code == 0, said
    assert said.splitlines() == ["## main", "more", "v1", "mine", str(lane.at)]
    assert "mine" not in world.git("log", "--all", "--format=%s")
    world.laid_out()
    assert "mine" not in world.inside(lane, "git log --all --format=%s")[1]


NEST = f"""{interpreter()} -c 'import os, sys
for _ in range(int(sys.argv[1])):
    os.mkdir("d"); os.chdir("d")
os.mkfifo(".gitignore"); open("f", "w").close(); os.chmod(".", 0)'"""
MISCHIEF = {
    "hooks and filters": "mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch {canary}\\n' > .git/hooks/post-index-change; "
    "chmod +x .git/hooks/*; git config core.hooksPath .git/hooks; git config filter.x.clean 'touch {canary}; cat'; "
    "git config filter.x.smudge 'touch {canary}; cat'; echo '* filter=x' > .gitattributes; echo x >> src/a.py",
    "a promisor": "git config extensions.partialClone evil; git config remote.evil.promisor true; "
    "git config remote.evil.url .; git config remote.evil.uploadpack 'touch {canary}'; echo x >> src/a.py",
    "fsmonitor": "git config core.fsmonitor 'touch {canary}'; echo x >> src/a.py",
    "a full bin": "mkdir -p .venv/bin bin; for p in git sh env; do printf '#!/bin/sh\\ntouch {canary}\\n' > bin/$p; "
    "chmod +x bin/$p; done",
    "a FIFO": "rm run.sh; mkfifo run.sh; mkfifo other",
    "FIFOs in the place of rules": "mkdir -p new/deep; for at in . src new new/deep; do "
    "mkfifo $at/.gitignore $at/.gitattributes; done; echo x > new/deep/f; mkdir locked; mkfifo locked/.gitignore; "
    "chmod 000 locked",
    "index bits": "git update-index --assume-unchanged src/a.py; git update-index --skip-worktree run.sh; "
    "echo x > src/a.py; echo x > run.sh",
    "a stale index": "cp .git/index i; echo 'a = 2' > src/a.py; touch -r run.sh src/a.py; git add -A; mv i .git/index; "
    "touch .git/index.lock .git/HEAD.lock",
    "a gitlink": "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),link; git commit -qm link; "
    "mkdir link; echo x > link/f",
    "objects of its own": "rm -rf .git/objects/*; mkdir -p .git/objects/info; "
    "echo /nowhere > .git/objects/info/alternates",
    "hard links": "ln src/a.py cache.log; mkdir cache; ln run.sh cache/x.log",
    "links": "rm -r src; ln -s / src; ln -s /etc/passwd p; rm run.sh; ln -s run.sh run.sh",
    "locked folders": "mkdir -p x/y; echo 1 > x/y/z; chmod 000 x/y x src/deep; chmod 000 src/a.py",
    "deep folders": f"{NEST} 700; echo x > $(printf 'd/%.0s' $(seq 300))f",
    "folders deeper than a path is long": f"{NEST} 2100",
    "a nested repository": "git init -q inner; echo x > inner/f; git init -q src; echo y > src/g",
    "many ignored files": "mkdir cache; for i in $(seq 2000); do : > cache/$i.log; done",
    "a folder for a file": "rm run.sh; mkdir run.sh; echo x > run.sh/x; rm -r src; echo x > src",
    "names that Git refuses": "mkdir .GIT; echo x > .GIT/config; mkdir GIT~1; echo x > GIT~1/config; echo y > fine",
    "names of any bytes": "printf x > \"$(printf 'a\\377\\nb \\042')\"",
    "Git's own state": "rm -rf .git/index .git/HEAD .git/objects/info .git/refs; mkdir .git/index; echo x > .git/HEAD",
}  # fmt: skip


def test_whatever_an_agent_did_has_no_effect_outside_and_is_undone(world: World, tmp_path: Path) -> None:
    """In one lane, one after the other: each finds it as if nothing had been."""
    canary = tmp_path / "canary"
    for what, script in MISCHIEF.items():
        lane = world.laid_out()
        world.inside(lane, script.replace("{canary}", str(canary)))
        canary.unlink(missing_ok=True)
        taken = lane.take_over(world.tree, LIMITS)
        world.git("fsck", "--strict")
        world.git("diff-tree", "-r", world.tree, taken.tree)
        lane.lay_out(world.tree, world.head, "main")
        assert not canary.exists(), what
        assert files_in(lane.tree) == files_in(world.root), what
        left = sorted(entry.name for entry in lane.tree.iterdir() if entry.name != ".git")
        assert left == sorted(entry.name for entry in world.root.iterdir() if entry.name != ".git"), what
        assert world.inside(lane, "git status --porcelain") == (0, ""), what
        assert world.git("status", "--porcelain") == "", what


def test_what_may_not_be_taken_is_named(world: World) -> None:
    world.commit({"docs/features/x/PRD.md": "p\n", ".ralphy/config.yaml": "a: 1\n"})
    lane = world.laid_out()
    (lane.tree / "docs/features/x/PRD.md").write_text("changed")
    (lane.tree / "docs/features/x/APPROVED").write_text("")
    (lane.tree / ".ralphy/config.yaml").unlink()
    os.truncate(os.open(lane.tree / "sparse", os.O_CREAT | os.O_WRONLY), 10 << 30)
    os.mkfifo(lane.tree / "fifo")
    (lane.tree / "run.sh").unlink()
    os.mkfifo(lane.tree / "run.sh")
    subprocess.run(["git", "init", "-q", lane.tree / "inner"], check=True)
    deep = lane.tree / "/".join(["d"] * 250)
    deep.mkdir(parents=True)
    (deep / "f").write_text("x")
    (lane.tree / "fine").write_text("x")
    taken = lane.take_over(world.tree, LIMITS)
    assert sorted(taken.refused) == [
        "inner is a nested repository",
        "sparse has 10240.0 MB; more than limits.max_file_mb (1) is not committed: leave it out, or add it to "
        ".gitignore",
        f"too deeply nested, more than 200 folders: {'d/' * 40} …",
    ]
    assert not (lane.tree / "fifo").exists()
    assert taken.control == (".ralphy/config.yaml", "docs/features/x/APPROVED", "docs/features/x/PRD.md")
    assert world.git("diff-tree", "-r", "--name-status", world.tree, taken.tree).split() == ["A", "fine", "D", "run.sh"]


def test_whatever_becomes_of_control_files_only_code_is_taken(world: World) -> None:
    (world.root / ".git/info/exclude").write_text("APPROVED\n")
    world.commit({"docs/features/x/PRD.md": "p\n", "docs/guide.md": "g\n"})
    world.pool.close()
    world.pool = world.new_pool()
    for script in ("echo x > docs/features/x/APPROVED", "rm -rf docs; echo x > docs", "rm -rf docs; ln -s /etc docs",
                   "rm docs/features/x/PRD.md"):  # fmt: skip
        lane = world.laid_out()
        subprocess.run(["sh", "-c", f"{script}; echo changed > run.sh"], cwd=lane.tree, check=True)
        taken = lane.take_over(world.tree, LIMITS)
        assert taken.control, script
        assert all(path.startswith("docs/features") for path in taken.control), script
        changed = world.git("diff-tree", "-r", "--name-only", world.tree, taken.tree).split()
        assert set(changed) - {"docs/guide.md"} == {"run.sh"}, script
        assert "appears as both a file and as a directory" in str(taken.refused) or script.count("docs") == 1


def test_a_file_that_git_refuses_is_left_out_and_said(world: World) -> None:
    world.git("config", "core.safecrlf", "true")
    world.git("config", "core.autocrlf", "input")
    world.pool.close()
    world.pool = world.new_pool()
    lane = world.laid_out()
    (lane.tree / "mixed.txt").write_bytes(b"a\r\nb\n")
    (lane.tree / "run.sh").write_text("changed\n")
    taken = lane.take_over(world.tree, LIMITS)
    assert "mixed.txt" in taken.refused[0]
    assert world.git("diff-tree", "-r", "--name-only", world.tree, taken.tree).split() == ["run.sh"]


def test_the_git_folder_replaced_by_a_link_leads_nowhere(world: World, tmp_path: Path) -> None:
    lane, outside = world.laid_out(), tmp_path / "outside"
    outside.mkdir()
    (outside / "config").write_text("keep me")
    for name in (lane.tree / ".git", lane.home / "git"):
        subprocess.run(["rm", "-rf", name], check=True)
        name.symlink_to(outside)
    (lane.tree / "run.sh").write_text("changed\n")
    taken = lane.take_over(world.tree, LIMITS)
    assert world.git("diff-tree", "-r", "--name-only", world.tree, taken.tree).split() == ["run.sh"]
    world.laid_out()
    assert [entry.name for entry in outside.iterdir()] == ["config"]
    assert world.inside(lane, "git status --porcelain") == (0, "")


def test_a_git_that_comes_to_no_end_is_ended(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    lane = world.laid_out()
    monkeypatch.setattr(git_inside, "_LONGEST_S", 0.0)
    with pytest.raises(LaneProblem, match="did not end in the lane"):
        lane.take_over(world.tree, LIMITS)


@pytest.mark.parametrize("is_made_again", [False, True])
def test_a_lane_that_is_removed_while_it_is_taken_over_is_reported(
    world: World, monkeypatch: pytest.MonkeyPatch, is_made_again: bool
) -> None:
    lane = world.laid_out()

    def removed_first(*_: object) -> None:
        shutil.rmtree(lane.home)
        if is_made_again:
            (lane.home / "git").mkdir(parents=True)
            lane.tree.mkdir()

    monkeypatch.setattr(lane_module, "write_git", removed_first)
    with pytest.raises(LaneProblem, match="it was removed"):
        lane.take_over(world.tree, LIMITS)


def test_what_is_kept_is_no_pattern(world: World) -> None:
    lane = world.laid_out()
    names = ("new/a [b]*c", "src/back\\slash", "end ", "!not", "#hash")
    lane.keep = names
    (lane.tree / "new").mkdir()
    for name in (*names, "new/a bxc", "src/backslash", "end", "src/#hash"):
        (lane.tree / name).write_text("x")
    world.laid_out()
    others = dict.fromkeys(names, "x")
    assert files_in(lane.tree) == {**files_in(world.root), **others}


def added_module(world: World, at: Path, path: str, name: str, files: dict[str, str]) -> None:
    """Commit a submodule at `path` of the repository or submodule at `at`."""
    library = world.root.parent / f"library-{name.replace('/', '-')}"
    library.mkdir()
    for file, text in files.items():
        (library / file).write_text(text)
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "begin")):
        world.git(*words, cwd=library)
    allow = ("-c", "protocol.file.allow=always")
    world.git(*allow, "submodule", "-q", "add", "--name", name, str(library), path, cwd=at)
    world.git("commit", "-qm", f"add {path}", cwd=at)


def test_a_submodule_in_a_submodule_has_its_files_too(world: World) -> None:
    added_module(world, world.root, "lib", "lib", {"f": "one\n"})
    added_module(world, world.root / "lib", "deep", "deep", {"g": "two\n"})
    world.git("commit", "-qam", "move lib")
    lane = world.laid_out()
    assert (lane.tree / "lib/deep/g").read_text() == "two\n"
    (lane.tree / "lib/deep/g").write_text("changed\n")
    assert lane.take_over(world.tree, LIMITS).modules == ("lib",)


def test_what_is_written_into_a_submodule_is_named_and_not_taken(world: World) -> None:
    added_module(world, world.root, "lib", "lib", {"f": "one\n"})
    for script in ("echo x >> lib/f", "rm lib/f", "rm -rf lib", "mkdir lib/new; echo x > lib/new/f",
                   "rm -rf lib; ln -s /etc lib", "rm -rf lib; echo x > lib", "git init -q lib",
                   "chmod 000 lib; chmod 700 lib; mkfifo lib/pipe"):  # fmt: skip
        lane = world.laid_out()
        world.inside(lane, f"{script}; echo changed > run.sh")
        taken = lane.take_over(world.tree, LIMITS)
        assert (taken.modules, taken.refused) == (("lib",), ()), script
        assert world.git("diff-tree", "-r", "--name-only", world.tree, taken.tree).split() == ["run.sh"], script
        world.laid_out()
        assert [path.name for path in (lane.tree / "lib").iterdir()] == ["f"], script
        assert (lane.tree / "lib/f").read_text() == "one\n", script
        assert lane.take_over(world.tree, LIMITS).modules == (), script


def test_a_submodule_follows_the_tree_that_is_laid_out(world: World) -> None:
    before = world.tree
    added_module(world, world.root, "lib", "lib", {"f": "one\n", "old": "x\n"})
    lane = world.laid_out()
    world.git("mv", "old", "new", cwd=world.root / "lib")
    world.git("commit", "-qm", "two", cwd=world.root / "lib")
    world.git("commit", "-qam", "move lib")
    world.laid_out()
    assert sorted(path.name for path in (lane.tree / "lib").iterdir()) == ["f", "new"]
    lane.lay_out(before, world.head, "main")
    assert not (lane.tree / "lib").exists()
    world.laid_out()
    assert sorted(path.name for path in (lane.tree / "lib").iterdir()) == ["f", "new"]


def test_a_submodule_that_is_initialised_later_is_filled_then(world: World) -> None:
    added_module(world, world.root, "lib", "lib", {"f": "one\n"})
    hidden = world.root / ".git" / "modules-away"
    (world.root / ".git" / "modules").rename(hidden)
    assert list((world.laid_out().tree / "lib").iterdir()) == []
    world.pool.close()
    hidden.rename(world.root / ".git" / "modules")
    world.pool = world.new_pool()
    assert (world.laid_out().tree / "lib/f").read_text() == "one\n"


def test_the_executable_bit_is_of_the_base_where_git_does_not_trust_it(world: World) -> None:
    world.git("update-index", "--chmod=+x", "run.sh")
    world.git("commit", "-qm", "x")
    world.git("config", "core.fileMode", "false")
    lane = world.laid_out()
    (lane.tree / "run.sh").write_text("changed\n")
    (lane.tree / "run.sh").chmod(0o644)
    taken = lane.take_over(world.tree, LIMITS)
    assert world.git("ls-tree", taken.tree, "run.sh").startswith("100755 ")


def test_a_lane_is_let_go_whatever_is_in_it(world: World) -> None:
    lane = world.laid_out()
    world.inside(lane, f"{NEST} 1500")
    world.pool.let_go([lane.name])
    assert not lane.home.exists()
