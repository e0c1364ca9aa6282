"""What is neither file, link nor folder (a FIFO, a socket, a device): to open a FIFO may wait for ever.

Git reads `.gitignore` and `.gitattributes` without a look at what they are, in folders that it finds as it goes. To
look for special files everywhere before each call would cost more than the call: they are looked for when git is slow.
Git then reads nothing from them, and they stay.
"""

from __future__ import annotations

import os
import selectors
import stat
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from ralphy.errors import EnvironmentProblem
from ralphy.files.tree_walk import walk
from ralphy.git.commands import Repository, failure

PATIENCE_S = 1.0  # how long git may be silent before special files are looked for
_BETWEEN_S, _FEEDING_S = 0.05, 20.0
_NAMES = (".gitignore", ".gitattributes", ".gitmodules", ".mailmap")


def run_patient(repository: Repository, *args: str) -> bytes:
    """A git command that reads the working tree; from special files that keep it waiting it reads nothing.

    Nothing is removed. Raises EnvironmentProblem when it waits all the same.
    """
    printed = _run(repository, args)
    if printed is None:
        raise EnvironmentProblem(f"git {args[0]} does not end: special files are in its way",
                                 where=str(next(iter(_read_by_git(repository)), repository.root)),
                                 hint="remove them: find . -type p")  # fmt: skip
    return printed


def _feed(found: Sequence[Path]) -> None:
    """Open each FIFO for writing and close it at once: who waits to read it finds its end."""
    for path in found:
        with suppress(OSError):  # nobody reads this one just now
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC))


def _run(repository: Repository, args: Sequence[str]) -> bytes | None:
    """What a command prints; None if it was ended because special files kept it waiting all the same."""
    with repository.start(*args) as process:
        try:
            printed = _printed(process, lambda: list(_read_by_git(repository)))
        except BaseException:  # else its end would be waited for
            process.kill()
            raise
    if printed is not None and process.returncode:
        raise failure(list(args), process.returncode, printed[1], str(repository.root))
    return printed and printed[0]


def _printed(process: subprocess.Popen[bytes], look: Callable[[], list[Path]]) -> tuple[bytes, bytes] | None:
    """What a command prints on both its outputs; None if it had to be killed.

    Not `communicate` with a timeout: that sleeps between looks at whether the process has ended.
    """
    assert process.stdin and process.stdout and process.stderr
    process.stdin.close()
    told: dict[int, list[bytes]] = {process.stdout.fileno(): [], process.stderr.fileno(): []}
    patience_s, fed_until = PATIENCE_S, 0.0
    with selectors.DefaultSelector() as waiting:
        for fd in told:
            waiting.register(fd, selectors.EVENT_READ)
        while waiting.get_map():
            ready = waiting.select(patience_s)
            if not ready:
                found, now = look(), time.monotonic()
                fed_until = fed_until or (now + _FEEDING_S if found else 0.0)
                _feed(found)
                if fed_until and now > fed_until:
                    process.kill()
                    return None
                patience_s = _BETWEEN_S if found else 2 * patience_s
            for key, _ in ready:
                told[key.fd].append(os.read(key.fd, 1 << 16))
                if not told[key.fd][-1]:
                    waiting.unregister(key.fd)
    out, err = (b"".join(pieces) for pieces in told.values())
    return out, err


def _read_by_git(repository: Repository) -> Iterator[Path]:
    """The special files that git would open, in the whole working tree and beside its configuration."""
    root, info = repository.root, repository.common_dir / "info"
    found = (
        root / one.path for one in walk(root, skipped=(".git",)) if one.name in _NAMES and is_odd(one.stat.st_mode)
    )
    yield from chain(found, (path for path in (info / "exclude", info / "attributes") if _is_odd_at(path)))


def is_odd(mode: int) -> bool:
    """Is a mode, as `lstat` gives it, that of no file, link or folder?"""
    return not (stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode))


def _is_odd_at(path: Path) -> bool:
    try:
        return is_odd(path.lstat().st_mode)
    except OSError:
        return False
