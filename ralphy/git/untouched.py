"""Which of Git's files a run had left alone when its last process ended: what changed there later is a person's doing.

The supervisor outlives a Ralphy that is killed in the middle of a run. When it has ended the run's processes it becomes
this script: `python -I -S untouched.py MARK WORD SEEN`. SEEN has the files as they were when the run began, WORD is
known to Ralphy and its supervisor alone, and its digest stands in the journal: no agent can have written this mark.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable

MARK = "git-state-untouched.json"


def order(folder: str, word: str, paths: Iterable[str]) -> list[str]:
    """What the supervisor is to become, should its Ralphy die."""
    seen = {path: _signature(path) for path in paths}
    return [sys.executable, "-I", "-S", __file__, f"{folder}/{MARK}", word, json.dumps(seen)]


def mark(folder: str, word: str, paths: Iterable[str]) -> None:
    """The same note, by a Ralphy that saw the end itself."""
    with open(f"{folder}/{MARK}", "w", encoding="utf-8") as file:  # noqa: PTH123
        json.dump({"word": word, "paths": list(paths)}, file)


def untouched(folder: str, is_known: Callable[[str], bool]) -> frozenset[str]:
    """The files that the mark names, if the journal knows the digest of its word; none without a mark."""
    import hashlib

    try:
        with open(f"{folder}/{MARK}", encoding="utf-8") as file:  # noqa: PTH123 - no pathlib in a script of 10 ms
            found = json.load(file)
        word, paths = str(found["word"]), found["paths"]
    except (OSError, ValueError, LookupError, TypeError):
        return frozenset()
    return frozenset(map(str, paths)) if is_known(hashlib.sha256(word.encode()).hexdigest()) else frozenset()


def _signature(path: str) -> list[int] | None:
    """What changes when a file changes; nobody sets the last one at will."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return [found.st_mode, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def main(mark: str, word: str, seen: str) -> None:
    paths = [path for path, before in json.loads(seen).items() if _signature(path) == before]
    try:
        descriptor = os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:  # Ralphy saw the end itself before it died
        return
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump({"word": word, "paths": paths}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
