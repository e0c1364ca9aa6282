"""Copy files of the checkout into a lane, and copy again only what changed on either side.

The checkout is a person's, the lane is nobody's to trust: an agent may have put a link or a FIFO in the place of any
folder there. Both are walked by descriptors, no link is followed, and a file is written under a name that was free.
A file in the lane counts as unchanged while its inode and ctime are those that were noted when it was written: a
program can set an mtime as it likes, but not a ctime.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ralphy.files.tree_walk import is_folder_at, names_at, remove

if TYPE_CHECKING:
    from collections.abc import Iterator

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_MOST_DEPTH = 100
_CHUNK = 1 << 20
_copy_range: Callable[[int, int, int], int] | None = getattr(os, "copy_file_range", None)  # Linux alone has it
_NOT_BY_THE_SYSTEM = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)
# Where programs and libraries of the system are: a link there leads to the same thing from everywhere.
_SYSTEM = ("/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/opt/", "/nix/store/", "/etc/alternatives/", "/System/",
           "/Library/", "/home/linuxbrew/.linuxbrew/")  # fmt: skip
_SPECIAL = {stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}

# path -> (mode, size, mtime) of the original, (inode, ctime) of the copy
Row = tuple[int, int, int, int, int]


@dataclass(slots=True)
class TreeCopy:
    """One copying of paths from `source`, the checkout, to `target`, the lane's tree.

    `at` is where programs in the lane see the tree. `known` are the rows of the copying before, `rows` those of this
    one. `left_out` are the paths that cannot come along, each with the reason. With `keeps_changes`, what `setup` did
    to the copies stays as long as the originals are the same.
    """

    source: Path
    target: Path
    at: Path
    known: Mapping[str, Row] = field(default_factory=dict)
    keeps_changes: bool = False
    rows: dict[str, Row] = field(default_factory=dict)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    files: int = 0
    bytes: int = 0
    _is_plain: bool = False

    def bring(self, path: str) -> None:
        """Make `path` in the lane what it is in the checkout; a relative path with slashes."""
        folder, _, name = path.rpartition("/")
        try:
            with _way(self.source, folder) as source, _way(self.target, folder, make=True) as target:
                self._entry(source, target, name, path, 0)
        except OSError as error:
            self._leave_out(path, error)

    def _leave_out(self, path: str, error: OSError) -> None:
        """A path that cannot be read goes without; a full disk ends the copying."""
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.EIO):
            raise error
        self.left_out.append((path, os.strerror(error.errno or 0).lower()))

    def _entry(self, source: int, target: int, name: str, path: str, depth: int) -> None:
        found = os.stat(name, dir_fd=source, follow_symlinks=False)
        if stat.S_ISREG(found.st_mode):
            self._file(source, target, name, path, found)
        elif stat.S_ISLNK(found.st_mode):
            self._link(source, target, name, path)
        elif not stat.S_ISDIR(found.st_mode):
            self._clear(target, name, path)
            self.left_out.append((path, _SPECIAL.get(stat.S_IFMT(found.st_mode), "a special file")))
        elif depth >= _MOST_DEPTH:
            self._clear(target, name, path)
            self.left_out.append((path, f"more than {_MOST_DEPTH} folders deep"))
        else:
            self._folder(source, target, name, path, depth)

    def _clear(self, target: int, name: str, path: str) -> None:
        """Take away what stands at a name in the lane."""
        try:
            os.unlink(name, dir_fd=target)
        except FileNotFoundError:
            return
        except OSError:
            remove(self.target / path, self.target)

    def _file(self, source: int, target: int, name: str, path: str, found: os.stat_result) -> None:
        old = self.known.get(path)
        is_same = old is not None and old[:3] == (found.st_mode, found.st_size, found.st_mtime_ns)
        if old and is_same and (self.keeps_changes or _stands(target, name, old)):
            self.rows[path] = old
            return
        self._clear(target, name, path)
        with _opened(name, _FILE, source) as reader, _opened(name, _NEW, target) as writer:
            found = os.fstat(reader)
            self._pour(reader, writer, found.st_size)
            os.fchmod(writer, found.st_mode & 0o777)
            os.utime(writer, ns=(found.st_mtime_ns, found.st_mtime_ns))
            made = os.fstat(writer)
        self.rows[path] = (found.st_mode, found.st_size, found.st_mtime_ns, made.st_ino, made.st_ctime_ns)
        self.files += 1
        self.bytes += found.st_size

    def _pour(self, reader: int, writer: int, size: int) -> None:
        """The bytes of a file: the system shares the blocks where the file system can, and copies them where not."""
        left = size
        while left and _copy_range and not self._is_plain:
            try:
                done = _copy_range(reader, writer, left)
            except OSError as error:
                if error.errno not in _NOT_BY_THE_SYSTEM:
                    raise
                self._is_plain = True
                break
            if not done:
                return
            left -= done
        while left > 0 and (data := os.read(reader, min(left, _CHUNK))):
            left -= len(data)
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(writer, rest) :]

    def _folder(self, source: int, target: int, name: str, path: str, depth: int) -> None:
        note = f"{path}/"
        if self.keeps_changes and note in self.known and not is_folder_at(target, name):
            self.rows |= {inner: row for inner, row in self.known.items() if inner.startswith(note)}
            return
        self.rows[note] = (0, 0, 0, 0, 0)
        with _opened(name, _FOLDER, source) as inside, self._own_folder(target, name, path) as own:
            with os.scandir(inside) as entries:
                names = [one.name for one in entries if one.name != ".git"]
            for other in () if self.keeps_changes else {*names_at(own)} - {*names}:
                self._clear(own, other, f"{path}/{other}")
            for one in names:
                try:
                    self._entry(inside, own, one, f"{path}/{one}", depth + 1)
                except OSError as error:
                    self._leave_out(f"{path}/{one}", error)
            found = os.fstat(inside)
            os.fchmod(own, found.st_mode & 0o777 | stat.S_IRWXU)  # what is in it is exchanged one day
            os.utime(own, ns=(found.st_mtime_ns, found.st_mtime_ns))

    @contextmanager
    def _own_folder(self, target: int, name: str, path: str) -> Iterator[int]:
        """The folder of that name in the lane, made where there is none or where it cannot be used."""
        for is_last in (False, True):
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=target)
            try:
                fd = os.open(name, _FOLDER, dir_fd=target)
                break
            except OSError:
                if is_last:
                    raise
            self._clear(target, name, path)
        try:
            os.fchmod(fd, stat.S_IRWXU)
            yield fd
        finally:
            os.close(fd)

    def _link(self, source: int, target: int, name: str, path: str) -> None:
        wanted = self._leads(path, os.readlink(name, dir_fd=source))
        with suppress(OSError):
            if wanted and (self.keeps_changes or os.readlink(name, dir_fd=target) == wanted):
                os.stat(name, dir_fd=target, follow_symlinks=False)
                return
        self._clear(target, name, path)
        if wanted:
            os.symlink(wanted, name, dir_fd=target)
        else:
            self.left_out.append((path, f"a link out of the checkout, to {os.readlink(name, dir_fd=source)}"))

    def _leads(self, path: str, text: str) -> str:
        """What a link in the lane must say to lead to what it leads to in the checkout; "" if that lies outside."""
        root = str(self.source)
        whole = os.path.normpath(text if text.startswith("/") else f"{root}/{path}/../{text}")
        is_inside = whole == root or whole.startswith(f"{root}/")
        if is_inside and not text.startswith("/"):
            return text
        if is_inside:
            return f"{self.at}{whole[len(root) :]}"
        return whole if whole.startswith(_SYSTEM) or self._is_interpreter(path) else ""

    def _is_interpreter(self, path: str) -> bool:
        """Is it the Python of a virtual environment? Nothing in there works without it."""
        *folders, place, name = ["", "", *path.split("/")]
        if place not in ("bin", "Scripts") or not name.startswith(("pypy", "python")):
            return False
        return (self.source / "/".join(filter(None, folders)) / "pyvenv.cfg").is_file()


def _stands(target: int, name: str, row: Row) -> bool:
    """Is the copy still the one that was noted?"""
    try:
        found = os.stat(name, dir_fd=target, follow_symlinks=False)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and (found.st_ino, found.st_ctime_ns) == row[3:]


@contextmanager
def _opened(name: str, flags: int, folder: int) -> Iterator[int]:
    fd = os.open(name, flags, 0o600, dir_fd=folder)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def _way(top: Path, folder: str, *, make: bool = False) -> Iterator[int]:
    """A folder below `top`, opened step by step, no link followed; with `make`, missing ones are made."""
    fd = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in filter(None, folder.split("/")):
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=fd)
            inner = os.open(name, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = inner
        yield fd
    finally:
        os.close(fd)
