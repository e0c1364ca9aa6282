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
from dataclasses import dataclass
from pathlib import Path

from ralphy.adapters.git import Repository
from ralphy.core.errors import EnvironmentProblem

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

    def close(self) -> None:
        if self._reader:
            self._reader.stdin.close()  # type: ignore[union-attr]
            self._reader.stdout.close()  # type: ignore[union-attr]
            self._reader.wait()
            self._reader = None

    def read(self, name: str) -> bytes | None:
        """The bytes of an object by id or `commit:path`; None if there is none of that name."""
        if "\n" in name:
            return None
        reader = self._reader or self._start()
        assert reader.stdin and reader.stdout
        try:
            reader.stdin.write(f"{name}\n".encode())
            reader.stdin.flush()
            header = reader.stdout.readline().decode("utf-8", "replace").rstrip("\n")
        except BrokenPipeError as error:
            raise EnvironmentProblem("git cat-file ended unexpectedly", hint="git fsck") from error
        if not header or header.endswith((" missing", " ambiguous")):
            return None
        size = int(header.rsplit(" ", 1)[1])
        data = reader.stdout.read(size)
        reader.stdout.read(1)
        return data

    def _start(self) -> subprocess.Popen[bytes]:
        self._reader = subprocess.Popen(
            ("git", "cat-file", "--batch"), cwd=self._repository.root, env=dict(self._repository.env),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return self._reader

    def tree_of(self, commit: str) -> str:
        """The tree id of a commit."""
        data = self.read(commit)
        if data is None or not data.startswith(b"tree "):
            raise EnvironmentProblem(f"commit {commit[:12]} cannot be read", hint="git fsck")
        return data[5 : data.index(b"\n")].decode()

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
                self._trees.clear()
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

    def graft(self, tree: str, changes: Mapping[str, Entry | None], *, durable: bool = True) -> str:
        """The id of `tree` with entries set (or, for None, removed) at paths; the new trees are written."""
        return self._grafted(tree, changes, durable) or self.write("tree", b"", durable=durable)

    def id_without(self, tree: str, path: str) -> str:
        """The id that `tree` would have without `path`; nothing is written."""
        return self._grafted(tree, {path: None}, None) or self._name(b"tree 0\0")

    def _grafted(self, tree: str, changes: Mapping[str, Entry | None], durable: bool | None) -> str:
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
            if old is None and not any(inner.values()):
                continue
            new = self._grafted(old.oid if old and old.mode == TREE else "", inner, durable)
            entries.pop(name, None)
            if new:
                entries[name] = Entry(TREE, new)
        if not entries:
            return ""
        data = _packed(entries)
        if durable is None:
            return self._name(b"tree %d\0" % len(data) + data)
        oid = self.write("tree", data, durable=durable)
        self._trees[oid] = entries
        return oid

    def _name(self, framed: bytes) -> str:
        return self._hash(framed).hexdigest()

    def write(self, kind: str, data: bytes, *, durable: bool = True) -> str:
        """Store an object and give its id; when `durable`, it is on the disk before this returns."""
        framed = b"%s %d\0" % (kind.encode(), len(data)) + data
        oid = self._name(framed)
        folder = self._repository.common_dir / "objects" / oid[:2]
        path = folder / oid[2:]
        if not path.exists():
            folder.mkdir(exist_ok=True)
            _write_once(path, zlib.compress(framed, 1), durable)
        return oid

    def changes(
        self, old: str, new: str, prefix: str = ""
    ) -> Iterator[tuple[str, Entry | None, Entry | None]]:
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


def _write_once(path: Path, data: bytes, durable: bool) -> None:
    temporary = path.with_name(f"tmp_obj_{os.getpid()}_{path.name[:8]}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o444)
    with os.fdopen(descriptor, "wb") as out:
        out.write(data)
        out.flush()
        if durable:
            os.fsync(out.fileno())
    temporary.replace(path)


def _rows(data: bytes, digest_size: int) -> Iterator[tuple[str, Entry]]:
    start = 0
    while start < len(data):
        space = data.index(b" ", start)
        end = data.index(b"\0", space)
        oid = data[end + 1 : end + 1 + digest_size].hex()
        yield data[space + 1 : end].decode("utf-8", "surrogateescape"), Entry(data[start:space].decode(), oid)
        start = end + 1 + digest_size


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
