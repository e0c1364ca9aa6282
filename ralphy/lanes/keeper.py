"""The keeper of a lane: the one program that runs Git in its working tree.

Not a script, but code that is sent to a bare Python in the sandbox (see `keeper_call`), started in the working tree,
with GIT_DIR naming the lane's own Git folder, which no agent sees. It waits for requests, and reads nothing before one
comes. It answers in frames: 16 hexadecimal digits, a line end, that many bytes. The first is JSON; if it names new
objects, a pack follows in frames, and an empty one. It imports little.

What it laid out it remembers in a record: for each path Git's mode and id, and what `lstat` said, to the nanosecond.
Whatever differs from the record was touched, whatever its time of change says.
"""

from __future__ import annotations

import marshal
import os
import stat
import sys
from _json import encode_basestring_ascii as quoted

from ralphy.lanes.keeper_modules import filled, moved, take_away
from ralphy.lanes.keeper_pack import pack_of
from ralphy.lanes.keeper_tree import FULL, GITLINK, Refused, files_at, is_folder, is_odd, look, print_of, remove, within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from ralphy.lanes.keeper_tree import Found, Rows

TREE_DEPTH = 200
SECOND = 1_000_000_000
NOTHING: dict[str, Any] = {"tree": "", "rows": {}, "modules": {}, "empty": []}


class Git:
    """Git in this tree; `index` names another index than the lane's own. `record` is None until it was read."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.words = (settings["program"], *settings["options"])
        self.folder = os.environ["GIT_DIR"]
        self.record: dict[str, Any] | None = None

    def __call__(self, *args: str, data: bytes = b"", index: str = "") -> bytes:
        env = {**os.environ, "GIT_INDEX_FILE": index} if index else os.environ
        files = [self.scratch(name) for name in ("in", "out", "err")]
        try:
            write_all(files[0], data)
            os.lseek(files[0], 0, os.SEEK_SET)
            actions = [(os.POSIX_SPAWN_DUP2, fd, at) for at, fd in enumerate(files)]
            pid = os.posix_spawn(self.words[0], (*self.words, *args), env, file_actions=actions)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            if code:
                said = os.pread(files[2], 4000, 0).decode("utf-8", "replace").strip()
                raise Refused(f"git {args[0]}: exit {code}: {said}")
            return os.pread(files[1], os.fstat(files[1]).st_size, 0)
        finally:
            for fd in files:
                os.close(fd)

    def scratch(self, name: str) -> int:
        """A file without a name."""
        if sys.platform == "linux":
            fd = os.memfd_create(name)
        else:
            path = self.path(f"{name}.scratch")
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            os.unlink(path)  # noqa: PTH108
        return fd

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}"


def main(settings: dict[str, Any]) -> None:
    """Serve until nobody can ask any more."""
    git = Git(settings)
    while True:
        try:
            request = marshal.load(sys.stdin.buffer)  # noqa: S302 - from Ralphy alone
        except EOFError:
            os._exit(0)  # what it knows of thousands of files need not be taken apart
        serve(git, request)


def serve(git: Git, request: dict[str, Any]) -> None:
    pack = list[str]()
    try:
        for name in ("index.lock", "taken", "taken.lock"):
            drop(git.path(name))
        if request["do"] == "lay-out":
            answer = lay_out(git, request)
        else:
            answer, pack = take_over(git, request)
    except (Refused, OSError) as error:
        answer = {"why": str(error) or "it failed", "errno": getattr(error, "errno", 0) or 0}
    tell(as_json(answer).encode())
    if pack:
        for data in pack_of(git.path("objects"), pack):
            tell(data)
        tell(b"")


def lay_out(git: Git, request: dict[str, Any]) -> dict[str, Any]:
    """Make the working tree exactly a tree; what is damaged is laid out from nothing."""
    record = read_record(git)
    try:
        if record["rows"] and record.get("owner") == owner():
            return laid_out(git, request, record)
    except Refused:
        pass
    drop(git.path("index"))
    return laid_out(git, request, NOTHING)


def owner() -> list[int]:
    """Whose the tree is, as it is seen here. In other walls that is another number, and Git, which finds that in its
    index, writes files again that nobody has touched."""
    seen = os.lstat(".")
    return [seen.st_uid, seen.st_gid]


def laid_out(git: Git, request: dict[str, Any], record: dict[str, Any]) -> dict[str, Any]:
    tree, rows = request["tree"], record["rows"]
    found = look(rows, set(request["keep"]))
    away = [*found.changed, *found.extra]
    if away:
        remove(away)
    if tree == record["tree"] and not found.changed and not found.missing and not record["empty"]:
        return {"written": 0, "empty": []}
    gone = moved(git, record["modules"], tree)
    drop(git.path("record"))  # from here on, until it is written, nothing is known
    git.record = NOTHING
    rows = take_away(gone, rows) if gone else rows
    git("read-tree", "--reset", "-u", tree)
    wanted = told(request, record) or {path: (mode, oid) for path, mode, oid in staged(git)}
    touched = {*found.changed, *found.missing}
    new: Rows = {}
    links: dict[str, str] = {}
    written = 0
    for path, (mode, oid, *_) in wanted.items():
        old = rows.get(path)
        if old and old[:2] == (mode, oid) and path not in touched:
            new[path] = old
        else:
            new[path] = (mode, oid, print_of(os.lstat(path)))
            written += 1
        if mode == GITLINK:
            links[path] = oid
    modules, empty = fill(git, links, new, {path: row for path, row in rows.items() if path not in touched})
    write_record(git, {"tree": tree, "rows": new, "modules": modules, "empty": empty, "owner": owner()})
    return {"written": written, "empty": empty}


def fill(git: Git, links: dict[str, str], new: Rows, rows: Rows) -> tuple[dict[str, str], list[str]]:
    """(the submodules that are filled, those that stay empty); the rows of their files join the `new` ones."""
    if not links:
        return {}, []
    found, modules, empty = filled(git, links, rows)
    new |= found
    for path in modules:
        if any(name.startswith(f"{path}/") for name in found):
            new.pop(path, None)
    return modules, empty


def told(request: dict[str, Any], record: dict[str, Any]) -> Rows:
    """The rows of the tree by what the request says is different in it; none if that does not tell all of it.

    `changes` are (path, mode, id), no mode for what is not there any more.
    """
    is_plain = not record["modules"] and not record["empty"] and all(row[1] != GITLINK for row in request["changes"])
    if not is_plain or not record["tree"] or record["tree"] != request["base"]:
        return {}
    new = dict(record["rows"])
    for path, mode, oid in request["changes"]:
        if mode:
            new[path] = (mode, oid)
        else:
            new.pop(path, None)
    return new


def take_over(git: Git, request: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """(the answer, ids of new objects): the tree with what changed in it, but for what may not be taken."""
    record = read_record(git)
    if record["tree"] != request["base"]:
        what = "does not hold what was laid out in it" if record["tree"] else "was removed, or emptied"
        raise Refused(f"it {what}")
    rows = record["rows"]
    clear_objects(git)
    found = look(rows, set(request["keep"]))
    take = Take(rows, request, record["modules"])
    take.known(found)
    for path in take.special:  # Git would wait for a pipe that it takes for its rules
        if os.path.basename(path).startswith(".git"):  # noqa: PTH119
            remove([path])
    if found.extra:
        names = git("ls-files", "--others", "--exclude-standard", "-z")
        take.new([os.fsdecode(name) for name in names.split(b"\0") if name])
    taken = take.paths()
    tree = request["base"]
    if taken:
        tree = write_tree(git, take)
    pack = new_objects(git) if taken else []
    answer = {name: sorted(getattr(take, name)) for name in ("special", "nested", "deep", "control", "modules")}
    return {
        **answer,
        "tree": tree,
        "big": sorted(take.big),
        "many": take.many,
        "crowded": take.crowded,
        "objects": len(pack),
    }, pack


class Take:
    """Which of what changed is taken, and what is left out and why."""

    def __init__(self, rows: Rows, request: dict[str, Any], modules: Iterable[str]) -> None:
        self.filled, self.modules = tuple(modules), set[str]()
        self.rows, self.base, self.keep = rows, request["base"], request["keep"]
        self.excluded, self.most_bytes, self.most_new = request["excluded"], request["most_bytes"], request["most_new"]
        self.special, self.nested, self.deep, self.control = (set[str]() for _ in range(4))
        self.big, self.many, self.crowded = set[tuple[str, int]](), 0, list[str]()
        self.tracked, self.added, self.gone = (list[str]() for _ in range(3))

    def known(self, found: Found) -> None:
        """Sort what stood in the tree that was laid out, and look at what lies beside it."""
        for path in found.missing:
            if self._is_left_out(path):
                continue
            self.gone.append(path)
        for path in found.changed:
            if self.rows[path][0] == GITLINK and is_folder(path):
                self.nested.update([path] if os.path.lexists(f"{path}/.git") else [])
                self.modules.add(path)
            else:
                self._sort(path, self.tracked)
        for path in found.extra:
            folder, _, name = path.rpartition("/")
            if self._is_left_out(path):
                continue
            for place in self.excluded:  # in a new folder
                self.control.update(files_at(place) if place.startswith(f"{path}/") else ())
            if name == ".git":
                self.nested.add(folder)
            elif is_odd(os.lstat(path).st_mode):
                self.special.add(path)

    def new(self, paths: list[str]) -> None:
        """Sort what Git does not ignore."""
        for path in paths:
            if path.endswith("/"):
                self.nested.add(path[:-1])
            elif not within(path, self.keep):
                self._sort(path, self.added)
        if len(self.added) > self.most_new:
            self.many, self.crowded, self.added = len(self.added), crowded(self.added), []

    def _is_left_out(self, path: str) -> bool:
        """Is it a control file, or a file of a submodule? What changed there is named."""
        if within(path, self.excluded):
            self.control.update(files_at(path) if os.path.lexists(path) else [path])  # a mount leaves empty folders
            return True
        inside = [module for module in self.filled if within(path, (module,))]
        self.modules.update(inside[:1])
        return bool(inside)

    def _sort(self, path: str, into: list[str]) -> None:
        if self._is_left_out(path):
            return
        try:
            found = os.lstat(path)
        except OSError:
            self.gone.append(path)
            return
        if is_odd(found.st_mode):
            self.special.add(path)
            if path in self.rows:
                self.gone.append(path)
        elif stat.S_ISDIR(found.st_mode):
            self.gone.append(path)
        elif path.count("/") > TREE_DEPTH:
            self.deep.add(path)
        elif stat.S_ISREG(found.st_mode) and found.st_size > self.most_bytes:
            self.big.add((path, found.st_size))
        else:
            if stat.S_ISREG(found.st_mode) and not found.st_mode & stat.S_IRUSR:
                os.chmod(path, found.st_mode | stat.S_IRUSR)  # noqa: PTH101 - pathlib costs a start more than it helps
            into.append(path)

    def hides(self, path: str) -> bool:
        """Could Git take a touched file for an untouched one? It looks at whole seconds."""
        was, now = self.rows[path][2], print_of(os.lstat(path))
        return [*was[:3], *(time // SECOND for time in was[3:])] == [*now[:3], *(time // SECOND for time in now[3:])]

    def paths(self) -> list[str]:
        return [*self.gone, *self.tracked, *self.added]


def crowded(paths: list[str]) -> list[str]:
    """The topmost folders that hold most of the files: a tenth of them or more each, at most three."""
    counts: dict[str, int] = {}
    for path in paths:
        top = path.partition("/")[0] if "/" in path else "."
        counts[top] = counts.get(top, 0) + 1
    large = [top for top in counts if counts[top] * 10 >= len(paths)]
    return sorted(large, key=lambda top: -counts[top])[:3]


def write_tree(git: Git, take: Take) -> str:
    """The id of the tree, its new objects in the lane's own folder. What Git refuses by its name is left out."""
    index = git.path("taken")
    with open(git.path("index"), "rb") as source, open(index, "wb") as target:  # noqa: PTH123
        target.write(source.read())
    # Ids without any note of times: Git looks into those whose times would say that they are as before.
    forced = [f"{take.rows[path][0]} {take.rows[path][1]}\t{path}\0" for path in take.tracked if take.hides(path)]
    removed = [f"0 {'0' * len(take.base)}\t{path}\0" for path in take.gone if path in take.rows]
    if removed or forced:
        git("update-index", "-z", "--index-info", data=as_bytes(removed + forced), index=index)
    refused = added(git, index, [*take.tracked, *take.added])
    take.special.update(refused)
    return git("write-tree", index=index).decode().strip()


def added(git: Git, index: str, paths: list[str]) -> list[str]:
    """Add files; gives those that Git refuses."""
    if not paths:
        return []
    try:
        data = as_bytes(f"{path}\0" for path in paths)
        git("update-index", "--add", "--remove", "-z", "--stdin", data=data, index=index)
    except Refused as error:
        if any(said in str(error) for said in FULL):
            raise
        if len(paths) == 1:
            return paths
        half = len(paths) // 2
        return added(git, index, paths[:half]) + added(git, index, paths[half:])
    return []


def staged(git: Git) -> Iterator[tuple[str, str, str]]:
    """(path, mode, id) of the index."""
    for row in git("ls-files", "--stage", "-z").split(b"\0"):
        if row:
            facts, _, path = row.partition(b"\t")
            mode, oid, _ = facts.decode().split(" ")
            yield os.fsdecode(path), mode, oid


def clear_objects(git: Git) -> None:
    """Take the objects of an earlier look away."""
    for path in loose(git):
        os.unlink(path)  # noqa: PTH108


def loose(git: Git) -> Iterator[str]:
    for folder in os.scandir(git.path("objects")):
        if len(folder.name) == 2:
            for entry in os.scandir(folder.path):
                yield entry.path


def new_objects(git: Git) -> list[str]:
    paths = (path.rsplit("/", 2)[1:] for path in loose(git))
    return sorted(folder + name for folder, name in paths if not name.startswith("tmp"))


def read_record(git: Git) -> dict[str, Any]:
    if git.record is None:
        git.record = NOTHING
        try:
            with open(git.path("record"), "rb") as file:  # noqa: PTH123
                git.record = marshal.load(file)  # noqa: S302 - only the keeper writes there
        except (OSError, ValueError, EOFError, TypeError):
            pass
    return git.record


def write_record(git: Git, record: dict[str, Any]) -> None:
    with open(git.path("record.new"), "wb") as file:  # noqa: PTH123
        marshal.dump(record, file)
    os.rename(git.path("record.new"), git.path("record"))  # noqa: PTH104
    git.record = record


def drop(path: str) -> None:
    if os.path.lexists(path):
        os.unlink(path)  # noqa: PTH108


def tell(data: bytes) -> None:
    """A frame of the answer."""
    write_all(1, b"%016x\n" % len(data) + data)


def as_bytes(words: Iterable[str]) -> bytes:
    return "".join(words).encode("utf-8", "surrogateescape")


def write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def as_json(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{quoted(name)}:{as_json(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(as_json, value)) + "]"
    return quoted(value) if isinstance(value, str) else str(value)
