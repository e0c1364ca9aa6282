"""A check's command, asked to run certain files of tests alone: for the runners whose command line can say that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PurePath

_PYTEST = ("pytest", "py.test")
# pytest's options that take the next word as their value
_WITH_VALUE = frozenset(("-c", "-p", "-k", "-m", "-o", "-W", "-n", "-r", "--rootdir", "--confcutdir", "--basetemp"))
# A file that cannot be imported must not keep the others from being run.
_TO_THE_END = ("--maxfail=0", "--continue-on-collection-errors")


def narrowed(words: Sequence[str], files: Sequence[str], is_there: Callable[[str], bool]) -> list[str] | None:
    """The words that run these files alone, to the last test; None if the command's runner is not called directly.

    Knows pytest and `node --test`. `is_there` tells whether a word names a file or folder, which is left out.
    """
    if folder := folder_of(words):
        if not all(file.startswith(f"{folder}/") for file in files):
            return None
        below = [file.removeprefix(f"{folder}/") for file in files]
        inner = narrowed(words[3:], below, lambda word: is_there(f"{folder}/{word}"))
        return inner and [*words[:3], *inner]
    if begin := pytest_at(words):
        return [*_without_places(words, begin, is_there), *_TO_THE_END, *files]
    if PurePath(words[0]).name == "node" and "--test" in words:
        begin = words.index("--test") + 1
        return [*(word for at, word in enumerate(words) if at < begin or not is_there(word)), *files]
    return None


def folder_of(words: Sequence[str]) -> str:
    """The folder that a command is run in: `web` of `env -C web npm test`; "" is where the checks are run."""
    is_moved = len(words) > 3 and PurePath(words[0]).name == "env" and words[1] == "-C"
    return words[2].removeprefix("./").rstrip("/") if is_moved else ""


def pytest_at(words: Sequence[str]) -> int:
    """Behind which word pytest's own arguments begin; 0 if it is not pytest that is called."""
    return next((at for at, word in enumerate(words, start=1) if PurePath(word).name in _PYTEST), 0)


def _without_places(words: Sequence[str], begin: int, is_there: Callable[[str], bool]) -> list[str]:
    """The command without the files and folders that it names."""

    def is_place(at: int, word: str) -> bool:
        is_argument = at >= begin and not word.startswith("-") and words[at - 1] not in _WITH_VALUE
        return is_argument and is_there(word.partition("::")[0])

    return [word for at, word in enumerate(words) if not is_place(at, word)]
