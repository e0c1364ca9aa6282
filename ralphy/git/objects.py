"""Git objects read through one warm `cat-file` and written as loose files: no process per object.

A story's commit needs three blobs, a few trees and a commit; as processes that is half of the time
between two agents. The format is git's own (gitformat-loose): "<type> <size>\\0<data>", zlib, named by hash.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from ralphy.errors import EnvironmentProblem
from ralphy.files.disk_space import refusal
from ralphy.files.safe_open import read_safely
from ralphy.git.commands import SAFE, Repository

TREE = "40000"


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of a tree: mode in git's octal text, object id in hex."""

    mode: str
    oid: str


Entries = dict[str, Entry]


class Objects:
    """The object database of a repository. Close it when done: it holds a process."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._hash = hashlib.sha256 if repository.object_format == "sha256" else hashlib.sha1
        self._reader: subprocess.Popen[bytes] | None = None
        self._trees: dict[str, Entries] = {}
        self._unwritten: dict[str, bytes] = {}
        self._tree_of: dict[str, str] = {}
        self._batch: Batch | None = None
        self._persisted: list[str] = []
        self._folder = str(repository.common_dir / "objects")
        self._last = ""

    def close(self) -> None:
        if self._reader:
            self._reader.stdin.close()  # type: ignore[union-attr]
            self._reader.stdout.close()  # type: ignore[union-attr]
            self._reader.wait()
            self._reader = None

    def read(self, name: str) -> bytes | None:
        """The bytes of an object by id or `commit:path`; None if there is none of that name.

        Raises EnvironmentProblem for one that is damaged.
        """
        if "\n" in name:
            return None
        asked = name.encode("utf-8", "surrogateescape") + b"\n"
        # The warm process may have been ended by somebody: then a fresh one is asked.
        answer = self._ask(asked) or self._ask(asked)
        if answer is None:
            raise EnvironmentProblem(f"git cannot read object {name[:200]}", hint="git fsck")
        header, data = answer
        if header.endswith((b" missing\n", b" ambiguous\n")):
            return None
        oid, kind, size = header.split()
        if self._hash(b"%s %s\0" % (kind, size) + data).hexdigest() != oid.decode():  # git itself does not look
            raise EnvironmentProblem(f"the object {oid.decode()} does not match its id", hint="git fsck")
        return data

    def is_sound(self, oid: str) -> bool:
        """Is an object there, whole, and what its id says?"""
        try:
            return self.read(oid) is not None
        except EnvironmentProblem:
            return False

    def _ask(self, name: bytes) -> tuple[bytes, bytes] | None:
        """(header, data) as `cat-file` answers; None if it ended before it had said all."""
        reader = self._reader or self._start()
        assert reader.stdin and reader.stdout
        header, size, data = b"", 0, b""
        try:
            reader.stdin.write(name)
            reader.stdin.flush()
            header = reader.stdout.readline()
            if header.endswith(b"\n") and header.rsplit(b" ", 1)[-1].strip().isdigit():
                size = int(header.rsplit(b" ", 1)[1]) + 1  # a line's end follows
                data = reader.stdout.read(size)
        except BrokenPipeError:
            header = b""
        if header.endswith(b"\n") and len(data) == size:  # of a damaged object, git says the size, and dies
            return header, data[:-1]
        self._reader = None
        reader.communicate()
        return None

    def _start(self) -> subprocess.Popen[bytes]:
        r = self._repository
        self._reader = subprocess.Popen(
            (r.program, *SAFE, "cat-file", "--batch"), cwd=r.root, env=dict(r.env),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return self._reader

    def tree_of(self, commit: str) -> str:
        """The tree id of a commit, by its id or by another name."""
        if commit in self._tree_of:
            return self._tree_of[commit]
        data = self.read(commit)
        if data is None or not data.startswith(b"tree "):
            raise EnvironmentProblem(f"commit {commit[:12]} cannot be read", hint="git fsck")
        tree = data[5 : data.index(b"\n")].decode()
        if len(commit) == len(tree) and commit.isalnum():
            self._tree_of[commit] = tree
        return tree

    def parents_of(self, commit: str) -> list[str]:
        """The ids of a commit's parents; none for what is not a commit."""
        head = (self.read(commit) or b"").partition(b"\n\n")[0]
        return [line[7:].decode() for line in head.split(b"\n") if line.startswith(b"parent ")]

    def entries(self, tree: str) -> Entries:
        """The rows of a tree, by name; no rows for an id of ""."""
        if not tree:
            return {}
        known = self._trees.get(tree)
        if known is None:
            data = self.read(tree)
            if data is None:
                raise EnvironmentProblem(f"tree {tree[:12]} cannot be read", hint="git fsck")
            known = dict(_rows(data, self._hash().digest_size))
            if len(self._trees) > 4096:
                self._trees = {oid: self._trees[oid] for oid in self._unwritten}
            self._trees[tree] = known
        return known

    def at(self, tree: str, path: str) -> Entry | None:
        """The entry at a path below a tree, or None."""
        entry: Entry | None = Entry(TREE, tree)
        for part in path.split("/"):
            if entry is None or entry.mode != TREE:
                return None
            entry = self.entries(entry.oid).get(part)
        return entry

    def graft(self, tree: str, changes: Mapping[str, Entry | None]) -> str:
        """The id of `tree` with entries set (or, for None, removed) at paths; nothing is written.

        The new trees can be read here at once; `persist` makes them last.
        """
        return self._grafted(tree, changes) or self._keep(b"", {})

    def id_without(self, tree: str, path: str) -> str:
        """The id that `tree` would have without `path`; nothing is kept of it."""
        return self._without(tree, path) or self._hash(_framed(b"")).hexdigest()

    def _without(self, tree: str, path: str) -> str:
        name, _, rest = path.partition("/")
        entries = dict(self.entries(tree))
        old = entries.pop(name, None)
        if rest and old and old.mode == TREE:
            inner = self._without(old.oid, rest)
            if inner:
                entries = {**entries, name: Entry(TREE, inner)}
        elif rest and old:
            entries[name] = old
        return self._hash(_framed(_packed(entries))).hexdigest() if entries else ""

    def _grafted(self, tree: str, changes: Mapping[str, Entry | None]) -> str:
        entries = dict(self.entries(tree))
        below: dict[str, dict[str, Entry | None]] = {}
        for path, entry in changes.items():
            name, _, rest = path.partition("/")
            if rest:
                below.setdefault(name, {})[rest] = entry
            elif entry is None:
                entries.pop(name, None)
            else:
                entries[name] = entry
        for name, inner in below.items():
            old = entries.get(name)
            is_tree = old is not None and old.mode == TREE
            if not is_tree and not any(inner.values()):
                continue
            new = self._grafted(old.oid if old and is_tree else "", inner)
            entries.pop(name, None)
            if new:
                entries[name] = Entry(TREE, new)
        return self._keep(_packed(entries), entries) if entries else ""

    def _keep(self, data: bytes, entries: Entries) -> str:
        oid = self._hash(_framed(data)).hexdigest()
        if oid not in self._trees:
            self._trees[oid] = entries
            self._unwritten[oid] = data
        return oid

    def persist(self, tree: str) -> None:
        """Write what of a grafted tree is only known here, its subtrees first; what cannot be written stays known."""
        data = self._unwritten.get(tree)
        if data is None:
            return
        for entry in self._trees[tree].values():
            if entry.mode == TREE:
                self.persist(entry.oid)
        with self.together():
            self.write("tree", data)
            self._persisted.append(tree)

    def write(self, kind: str, data: bytes) -> str:
        """Store an object and give its id; `sync` makes all that were stored last through a power loss."""
        framed = b"%s %d\0" % (kind.encode(), len(data)) + data
        oid = self._hash(framed).hexdigest()
        path = f"{self._folder}/{oid[:2]}/{oid[2:]}"
        if kind == "commit":
            self._tree_of[oid] = data[5 : data.index(b"\n")].decode()
        if not self._has(path, framed):
            with self.together() as batch:
                try:
                    batch.add(path, zlib.compress(framed, 1))
                except OSError as error:
                    raise refusal(error, "cannot be written", path) from error
            self._last = path
        return oid

    def _has(self, path: str, framed: bytes) -> bool:
        """Is this object there, as a loose file? Somebody may have put another one in its place."""
        try:
            return zlib.decompress(read_safely(path, 1 << 40)) == framed
        except (OSError, zlib.error):
            return False

    @contextmanager
    def together(self) -> Iterator[Batch]:
        """What is written in here goes to the disk together, and is there for git and for `read` at the end."""
        if self._batch:
            yield self._batch
            return
        batch = self._batch = Batch()
        try:
            yield batch
            self._finish(batch)
        finally:
            self._batch = None
            self._persisted.clear()
            batch.drop()

    def _finish(self, batch: Batch) -> None:
        try:
            batch.finish()
        except OSError as error:
            raise refusal(error, "objects cannot be written", self._folder) from error
        for tree in self._persisted:
            self._unwritten.pop(tree, None)

    def make_visible(self) -> None:
        """Give what was written so far its names, although more is written together with it: Git is asked about it."""
        if self._batch:
            self._finish(self._batch)

    def sync(self) -> None:
        """Have everything that was stored on the disk: one flush for all of it, as git's batch mode does."""
        if self._last:
            descriptor = os.open(self._last, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            self._last = ""

    def changes(self, old: str, new: str, prefix: str = "") -> Iterator[tuple[str, Entry | None, Entry | None]]:
        """(path, before, after) of every file that differs between two trees; equal subtrees are not read."""
        if old == new:
            return
        before, after = self.entries(old), self.entries(new)
        for name in sorted(before.keys() | after.keys()):
            a, b = before.get(name), after.get(name)
            if a == b:
                continue
            path = f"{prefix}{name}"
            a_tree = a.oid if a and a.mode == TREE else ""
            b_tree = b.oid if b and b.mode == TREE else ""
            if a_tree or b_tree:
                yield from self.changes(a_tree, b_tree, f"{path}/")
            a_file, b_file = (a if a and not a_tree else None), (b if b and not b_tree else None)
            if a_file or b_file:
                yield path, a_file, b_file


def _rows(data: bytes, digest_size: int) -> Iterator[tuple[str, Entry]]:
    start = 0
    while start < len(data):
        space = data.index(b" ", start)
        end = data.index(b"\0", space)
        oid = data[end + 1 : end + 1 + digest_size].hex()
        yield data[space + 1 : end].decode("utf-8", "surrogateescape"), Entry(data[start:space].decode(), oid)
        start = end + 1 + digest_size


def _framed(data: bytes) -> bytes:
    return b"tree %d\0" % len(data) + data


def _packed(entries: Entries) -> bytes:
    """A tree's bytes: rows in git's order, where a directory sorts as if its name ended in a slash."""
    rows = [
        (name.encode("utf-8", "surrogateescape") + (b"/" if entry.mode == TREE else b""), name, entry)
        for name, entry in entries.items()
    ]
    return b"".join(
        b"%s %s\0%s" % (e.mode.encode(), name.encode("utf-8", "surrogateescape"), bytes.fromhex(e.oid))
        for _, name, e in sorted(rows)
    )


class Batch:
    """Files that get their names all at the end, in the order in which they came."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[str, int]] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._open

    def add(self, path: str, data: bytes) -> None:
        """Write a file."""
        folder, _, _ = path.rpartition("/")
        temporary = f"{folder}/tmp_obj_{os.urandom(8).hex()}"  # not to be guessed, and new: never written through
        descriptor = _create(temporary)
        self._open[path] = (temporary, descriptor)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]

    def finish(self) -> None:
        """Wait for the disk, and name them."""
        while self._open:
            path = next(iter(self._open))
            temporary, descriptor = self._open[path]
            os.fsync(descriptor)
            os.replace(temporary, path)
            os.close(descriptor)
            del self._open[path]

    def drop(self) -> None:
        """Leave nothing behind of what has no name yet."""
        for temporary, descriptor in self._open.values():
            with suppress(OSError):
                os.close(descriptor)
            with suppress(OSError):
                os.unlink(temporary)
        self._open.clear()


def _create(path: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o444)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return os.open(path, flags, 0o444)
