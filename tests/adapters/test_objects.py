"""Objects are git's own: what is grafted, compared and written is what real git says, byte for byte."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralphy.errors import EnvironmentProblem
from ralphy.git.commands import Repository, discover, resolve
from ralphy.git.objects import Entry, Objects
from ralphy.git.signing import CommitText, write_commit
from tests.conftest import RunGit
from tests.core.building import examples

Files = dict[str, Entry]
Changes = dict[str, Entry | None]

# Sorting, quoting and decoding each have a name here that they fail on.
NAMES = ["a", "a.b", "a0", "a-", "b", "B", "é", "a b", "a\nb", '"q"', "-x", "\udcff\udcfe", "\u2028", "zz"]
MODES = ["100644", "100755", "120000"]
few = st.sampled_from
paths = st.lists(few(NAMES), min_size=1, max_size=3).map("/".join)


def without_conflicts(rows: list[tuple[str, str, bytes]]) -> list[tuple[str, str, bytes]]:
    """The rows whose path is neither a folder nor inside a file of an earlier one."""
    kept: list[tuple[str, str, bytes]] = []
    for row in rows:
        if not any(
            f"{row[0]}/".startswith(f"{other}/") or f"{other}/".startswith(f"{row[0]}/") for other, _, _ in kept
        ):
            kept.append(row)
    return kept


blobs = few([b"", b"x\n", b"y\n", b"\0\xff"])
trees = st.lists(st.tuples(paths, few(MODES), blobs), max_size=8).map(without_conflicts)
edits = st.lists(st.tuples(paths, few([*MODES, ""]), blobs), max_size=5).map(without_conflicts)


class Bench:
    """A repository that is used again by every example."""

    def __init__(self, root: Path, object_format: str) -> None:
        subprocess.run(["git", "init", "-q", f"--object-format={object_format}", root], check=True)
        self.repository: Repository = discover(root)
        self.objects = Objects(self.repository)

    def files(self, rows: list[tuple[str, str, bytes]]) -> Files:
        oids = self.objects.write_blobs({path: data for path, _, data in rows})
        return {path: Entry(mode, oids[path]) for path, mode, _ in rows}

    def tree(self, files: Files) -> str:
        """What git makes of these files."""
        index = self.repository.git_dir / "bench-index"
        index.unlink(missing_ok=True)
        rows = "".join(f"{entry.mode} {entry.oid}\t{path}\0" for path, entry in files.items())
        data = os.fsencode(rows)
        self.repository.run("update-index", "-z", "--index-info", stdin=data, index=index)
        return self.repository.run("write-tree", index=index).decode().strip()

    def differences(self, old: str, new: str) -> set[tuple[str, str, str]]:
        """(path, mode and id before, after) as `git diff-tree` says; "" for nothing."""
        out = os.fsdecode(self.repository.run("diff-tree", "-r", "-z", "--no-renames", old, new))
        words = out.split("\0")[:-1]
        found = set()
        for raw, path in zip(words[::2], words[1::2], strict=True):
            old_mode, new_mode, old_id, new_id, _ = raw.removeprefix(":").split(" ")
            found.add((path, shown(old_mode, old_id), shown(new_mode, new_id)))
        return found


def shown(mode: str, oid: str) -> str:
    return "" if mode == "000000" else f"{mode} {oid}"


@pytest.fixture(scope="module", params=["sha1", "sha256"])
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("bench"), request.param)


def grafted(files: Files, changes: Changes) -> Files:
    """What a graft is to give: a new file takes the place of all below it, and of a file above it."""
    left = dict(files)
    for path, entry in changes.items():
        left.pop(path, None)
        if entry:
            left = {other: it for other, it in left.items()
                    if not (other.startswith(f"{path}/") or path.startswith(f"{other}/"))}  # fmt: skip
            left[path] = entry
    return left


@settings(max_examples=examples(25))
@given(rows=trees, changed=edits)
def test_a_graft_is_what_git_makes_of_the_same_files(
    bench: Bench, rows: list[tuple[str, str, bytes]], changed: list[tuple[str, str, bytes]]
) -> None:
    files = bench.files(rows)
    changes: Changes = {path: bench.files([(path, mode, data)])[path] if mode else None for path, mode, data in changed}
    before, after = bench.tree(files), bench.tree(grafted(files, changes))
    assert bench.objects.graft("", dict(files)) == before
    tree = bench.objects.graft(before, changes)
    assert tree == after
    found = {(path, shown_entry(old), shown_entry(new)) for path, old, new in bench.objects.changes(before, tree)}
    assert found == bench.differences(before, after)


def shown_entry(entry: Entry | None) -> str:
    return f"{entry.mode} {entry.oid}" if entry else ""


@settings(max_examples=examples(10))
@given(rows=trees)
def test_what_is_made_passes_fsck(bench: Bench, rows: list[tuple[str, str, bytes]]) -> None:
    changes: Changes = {f"new/{path}": entry for path, entry in bench.files(rows).items()}
    changes["new/marker"] = Entry("100644", bench.objects.write_blob(os.urandom(8)))
    tree = bench.objects.graft("", changes)
    commit = write_commit(bench.repository, tree, CommitText((), "A <a@b>", 1, "subject\n\na\0b\n"))
    assert bench.repository.run("fsck", "--strict", "--no-dangling", commit) == b""
    assert bench.objects.tree_of(commit) == tree
    listed = os.fsdecode(bench.repository.run("ls-tree", "-r", "-z", "--name-only", commit)).split("\0")[:-1]
    assert sorted(listed) == sorted(changes)


def test_the_id_of_a_tree_without_a_path_is_known_before_anything_is_written(bench: Bench) -> None:
    files = bench.files([("a/b", "100644", b"x"), ("a/c", "100644", b"y\n")])
    without = bench.tree({"a/c": files["a/c"]})
    assert bench.objects.id_without(bench.tree(files), "a/b") == without


def test_objects_of_packs_and_of_other_processes_are_found(git_repo: Path, git: RunGit) -> None:
    objects = Objects(discover(git_repo))
    head = git("rev-parse", "HEAD")
    assert objects.tree_of(head) == git("rev-parse", "HEAD^{tree}")
    git("gc", "--quiet")
    (git_repo / "new.py").write_text("x = 1\n")
    git("add", "new.py")
    git("commit", "--quiet", "--message", "new")
    tree = objects.tree_of(git("rev-parse", "HEAD"))
    assert objects.at(tree, "new.py") is not None
    assert objects.read("HEAD:calc.py") == (git_repo / "calc.py").read_bytes()


def test_a_name_is_asked_for_again(git_repo: Path, git: RunGit) -> None:
    objects = Objects(discover(git_repo))
    tree = objects.tree_of("HEAD")
    git("update-ref", "HEAD", git("commit-tree", git("mktree"), "-p", "HEAD", "-m", "empty"))
    assert objects.tree_of("HEAD") == git("rev-parse", "HEAD^{tree}") != tree


@pytest.mark.fault("P3")
def test_a_reader_that_was_killed_is_started_again(git_repo: Path, git: RunGit) -> None:
    repository = discover(git_repo)
    assert Objects(repository).read("HEAD:calc.py")
    process = repository.reader._process
    assert process
    process.kill()
    process.wait()
    assert Objects(repository).read("HEAD:calc.py") == (git_repo / "calc.py").read_bytes()
    repository.reader.close()
    assert resolve(repository, "HEAD") == git("rev-parse", "HEAD")


def test_many_files_are_stored_by_one_git_as_they_are(git_repo: Path, git: RunGit) -> None:
    (git_repo / ".gitattributes").write_text("* text eol=crlf\n")  # nothing is converted
    files = {f"f{i}\n": b"number %d\r\n" % i for i in range(300)}
    objects = Objects(discover(git_repo))
    oids = objects.write_blobs(files)
    assert {name: objects.read(oid) for name, oid in oids.items()} == files
    assert git("fsck", "--strict", "--no-dangling") == ""


@pytest.mark.parametrize("kind", ["blob", "tree"])
def test_a_damaged_object_is_said_and_never_read_as_a_part(git_repo: Path, git: RunGit, kind: str) -> None:
    objects = Objects(discover(git_repo))
    oids = objects.write_blobs({f"file-{n}": b"%d\n" % n for n in range(60)})
    tree = objects.graft("", {name: Entry("100644", oid) for name, oid in oids.items()})
    blob = objects.write_blob(os.urandom(300_000))
    damaged = blob if kind == "blob" else tree
    path = git_repo / ".git" / "objects" / damaged[:2] / damaged[2:]
    data = bytearray(path.read_bytes())
    data[-40:] = bytes(byte ^ 0xFF for byte in data[-40:])
    path.chmod(0o644)
    path.write_bytes(data)

    fresh = Objects(discover(git_repo))
    with pytest.raises(EnvironmentProblem, match=damaged) as refused:
        _ = fresh.read(damaged) if kind == "blob" else fresh.entries(tree)
    assert refused.value.hint == "git fsck"
    assert fresh.read("HEAD:calc.py") == (git_repo / "calc.py").read_bytes()  # it goes on with what is sound
