"""What is neither file, link nor folder (a FIFO, a socket, a device): to open one may wait for ever, so it is removed.

Git reads `.gitignore` and `.gitattributes` without a look at what they are, in folders that it finds as it goes. To
look for such ones everywhere before each call would cost more than the call: they are looked for when git is slow.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ralphy.adapters.files import is_odd
from ralphy.adapters.git import Repository, failure

PATIENCE_S = 20.0
_READ_BY_GIT = (".gitignore", ".gitattributes", ".gitmodules", ".mailmap")


def remove_odd(path: Path) -> bool:
    """Take away what is at a path if it is odd: nothing can be kept of it. Is it gone?"""
    try:
        if not is_odd(path.lstat().st_mode):
            return False
        path.unlink()
    except OSError:
        return False
    return True


def run_wary(repository: Repository, *args: str, index: Path | None = None) -> bytes:
    """A git command that reads the working tree; odd files that keep it waiting are removed, and it is run again."""
    with repository.start(*args, index=index) as process:
        try:
            printed = _printed(process, PATIENCE_S)
        except BaseException:  # else its end would be waited for
            process.kill()
            raise
    if printed is None:
        for path in _odd_in(str(repository.root)):
            with suppress(OSError):
                os.unlink(path)  # noqa: PTH108 - a name, as it was found
        if index:
            index.with_suffix(".lock").unlink(missing_ok=True)
        return repository.run(*args, index=index)
    if process.returncode:
        raise failure(list(args), process.returncode, printed[1], str(repository.root))
    return printed[0]


def _printed(process: subprocess.Popen[bytes], patience_s: float) -> tuple[bytes, bytes] | None:
    """What a command prints on both its outputs; None if it had to be killed, since it did not close them in time.

    Not `communicate` with a timeout: that sleeps between looks at whether the process has ended.
    """
    assert process.stdin and process.stdout and process.stderr
    process.stdin.close()
    told: dict[int, list[bytes]] = {process.stdout.fileno(): [], process.stderr.fileno(): []}
    end = time.monotonic() + patience_s
    with selectors.DefaultSelector() as waiting:
        for fd in told:
            waiting.register(fd, selectors.EVENT_READ)
        while waiting.get_map():
            ready = waiting.select(max(end - time.monotonic(), 0.0))
            if not ready:
                process.kill()
                return None
            for key, _ in ready:
                told[key.fd].append(os.read(key.fd, 1 << 16))
                if not told[key.fd][-1]:
                    waiting.unregister(key.fd)
    out, err = (b"".join(pieces) for pieces in told.values())
    return out, err


def _odd_in(root: str) -> Iterator[str]:
    """The odd files that git would open, in the whole working tree."""
    for folder, folders, files in os.walk(root):
        if ".git" in folders and folder == root:
            folders.remove(".git")
        for name in _READ_BY_GIT:
            if name in files and is_odd(os.lstat(f"{folder}/{name}").st_mode):
                yield f"{folder}/{name}"
