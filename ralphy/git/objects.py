"""Git objects: read through one `git cat-file`, made by `git hash-object` and `git write-tree`.

What is made here is on the disk when the call returns.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ralphy.errors import EnvironmentProblem
from ralphy.files import temporary
from ralphy.files.disk_space import named_trouble
from ralphy.git.commands import DURABLE, Repository

TREE, GITLINK = "40000", "160000"  # modes of entries
_AS_BYTES = ("utf-8", "surrogateescape")
_MOST_TREES = 4096
_OID = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


def is_oid(value: str) -> bool:
    """Is it an object's id, and no name?"""
    return _OID.fullmatch(value) is not None


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of a tree: mode in git's octal text, object id in hex."""

    mode: str
    oid: str


Entries = dict[str, Entry]


class Objects:
    """The object database of a repository."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._hash = hashlib.sha256 if repository.object_format == "sha256" else hashlib.sha1
        self._trees: dict[str, Entries] = {}

    def read(self, name: str) -> bytes | None:
        """The bytes of an object by id or `commit:path`; None if there is none of that name.

        Raises EnvironmentProblem for one that is damaged.
        """
        contents = self._repository.reader.contents(name)
        if contents is None:
            return None
        oid, kind, data = contents
        if self._id_of(kind, data) != oid:  # git itself does not look
            raise EnvironmentProblem(f"the object {oid} does not match its id", hint="git fsck")
        return data

    def is_sound(self, oid: str) -> bool:
        """Is an object there, whole, and what its id says?"""
        try:
            return self.read(oid) is not None
        except EnvironmentProblem:
            return False

    def tree_of(self, commit: str) -> str:
        """The tree id of a commit, by its id or by another name."""
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
            if len(self._trees) >= _MOST_TREES:
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

    def blob_id(self, data: bytes) -> str:
        """The id of a file with these bytes; nothing is stored."""
        return self._id_of("blob", data)

    def write_blob(self, data: bytes) -> str:
        """Store the bytes of a file, and give the id."""
        return self.write_blobs({"": data})[""]

    def write_blobs(self, files: Mapping[str, bytes]) -> dict[str, str]:
        """Store the bytes of files with one git, and give their ids by the same names."""
        if not files:
            return {}
        git, words = self._repository, (*DURABLE, "hash-object", "-w", "--no-filters", "--stdin-paths")
        with named_trouble(), temporary.folder("blobs", git.token, git.state_dir) as folder:
            paths = [folder / str(number) for number in range(len(files))]
            for path, data in zip(paths, files.values(), strict=True):
                path.write_bytes(data)
            oids = git.run(*words, stdin="".join(f"{path}\n" for path in paths).encode()).decode().split()
        for oid in oids:
            self.read(oid)  # another object may have been there under its id
        return dict(zip(files, oids, strict=True))

    def graft(self, tree: str, changes: Mapping[str, Entry | None]) -> str:
        """Store `tree` with files set (or, for None, removed) at paths, and give the id."""
        if tree and not changes:
            return tree
        git, gone = self._repository, Entry("0", self._repository.null_oid)
        rows = [f"{entry.mode} {entry.oid}\t{path}\0" for path, new in changes.items() for entry in (new or gone,)]
        with temporary.folder("index", git.token, git.state_dir) as folder:
            index = folder / "index"
            if tree:
                git.run("read-tree", tree, index=index)
            git.run("update-index", "-z", "--index-info", stdin="".join(rows).encode(*_AS_BYTES), index=index)
            oid = git.run(*DURABLE, "write-tree", index=index).decode().strip()
        for path in changes:
            self.at(oid, path)  # another tree may have been there under its id
        return oid

    def id_without(self, tree: str, path: str) -> str:
        """The id that `tree` would have without `path`. Nothing is stored: commands that only read ask for it, too."""
        return self._without(tree, path) or self._id_of("tree", b"")

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
        return self._id_of("tree", _packed(entries)) if entries else ""

    def _id_of(self, kind: str, data: bytes) -> str:
        return self._hash(b"%s %d\0" % (kind.encode(), len(data)) + data).hexdigest()


def _rows(data: bytes, digest_size: int) -> Iterator[tuple[str, Entry]]:
    start = 0
    while start < len(data):
        space = data.index(b" ", start)
        end = data.index(b"\0", space)
        oid = data[end + 1 : end + 1 + digest_size].hex()
        yield data[space + 1 : end].decode(*_AS_BYTES), Entry(data[start:space].decode(), oid)
        start = end + 1 + digest_size


def _packed(entries: Entries) -> bytes:
    """A tree's bytes: rows in git's order, where a directory sorts as if its name ended in a slash."""
    rows = [(name.encode(*_AS_BYTES), entry) for name, entry in entries.items()]
    rows.sort(key=lambda row: row[0] + (b"/" if row[1].mode == TREE else b""))
    return b"".join(b"%s %s\0%s" % (entry.mode.encode(), name, bytes.fromhex(entry.oid)) for name, entry in rows)
