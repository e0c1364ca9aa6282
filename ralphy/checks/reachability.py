"""What the commands of checks reach: scripts, targets of make and scripts of a package.json, one calling the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ralphy.checks.recipes import recipes_of

MAKEFILES = ("GNUmakefile", "makefile", "Makefile")  # in the order in which GNU make takes them
_MAKE = re.compile(r"(?:.*/)?g?make|\$[({]MAKE[)}]")
_PACKAGE = re.compile(r"(?:npm|pnpm|yarn|bun)")
_RUNS = re.compile(r"(?:.*/)?(?:(?:ba|da|z|k)?sh|node|python[\d.]*|perl|ruby|tsx|deno|bun)|\.|source|exec|env|time|run"
                   r"|\w+=.*|\$.*")  # fmt: skip
_FOLDER = ("cd", "-C", "--prefix", "--dir", "--cwd", "--directory")
_BETWEEN = re.compile(r"&&|\|\||[|;&\n()`]")
_NO_SHELL = re.compile(r"\.(?:py|[cm]?[jt]sx?|rb|pl|php)$")
_ALIASES = {"t": "test", "tst": "test"}
_MOST = 200

Read = Callable[[str], "str | None"]


@dataclass(frozen=True, slots=True)
class Reach:
    """`files` are scripts by their paths, `targets` what make is asked for ("" is its first), `scripts` those of a
    package.json by their names."""

    files: frozenset[str] = frozenset()
    targets: frozenset[str] = frozenset()
    scripts: frozenset[str] = frozenset()


def reach_of(commands: Sequence[Sequence[str]], read: Read) -> Reach:
    """Follow the commands; `read` gives the text of a file of the repository, or None."""
    files: set[str] = set()
    targets: set[str] = set()
    scripts: set[str] = set()
    folders = {""}
    texts = [" ".join(words) for words in commands]
    for at, text in enumerate(texts):
        for words in _simple(text):
            folders |= {f"{after.strip('/')}/" for word, after in pairwise(words) if word in _FOLDER}
            made, named = set(_targets(words)) - targets, set(_scripts(words)) - scripts
            found = {path for path in _files(words) if path not in files}
            found = {path for path in found if at < len(commands) or read(path) is not None}
            targets, scripts, files = targets | made, scripts | named, files | found
            texts += [text for target in made for text in _recipes(read, folders, target)]
            texts += [text for name in named for text in _package(read, folders, name)]
            texts += [read(path) or "" for path in found if not _NO_SHELL.search(path)]
        if len(texts) > _MOST:
            break
    around = {f"{part}{name}" for name in scripts for part in ("", "pre", "post")}
    return Reach(frozenset(files), frozenset(targets), frozenset(around))


def _simple(text: str) -> Iterator[list[str]]:
    """The simple commands of shell lines; make's own marks before them are not part of them."""
    for part in _BETWEEN.split(text.replace("\\\n", " ").replace("$(", "${")):
        words = [word.strip("\"'") for word in part.lstrip("\t @+-!").split()]
        if words:
            yield words


def _targets(words: Sequence[str]) -> Iterator[str]:
    at = next((at for at, word in enumerate(words) if _MAKE.fullmatch(word)), None)
    if at is not None:
        named = [word for word in words[at + 1 :] if not word.startswith("-") and "=" not in word]
        yield from named or [""]


def _scripts(words: Sequence[str]) -> Iterator[str]:
    at = next((at for at, word in enumerate(words) if _PACKAGE.fullmatch(word)), None)
    for word in words[at + 1 :] if at is not None else ():
        if not word.startswith("-"):
            yield _ALIASES.get(word, word)


def _files(words: Sequence[str]) -> Iterator[str]:
    """What stands where a program does: first, or behind one that runs it."""
    for at, word in enumerate(words):
        before = [earlier for earlier in words[:at] if not earlier.startswith("-")]
        if not before or _RUNS.fullmatch(before[-1]):
            yield word.removeprefix("./")


def _recipes(read: Read, folders: set[str], target: str) -> Iterator[str]:
    for folder in folders:
        for name in MAKEFILES:
            yield from recipes_of("Makefile", read(f"{folder}{name}") or "", [target]).values()


def _package(read: Read, folders: set[str], name: str) -> Iterator[str]:
    for folder in folders:
        found = recipes_of("package.json", read(f"{folder}package.json") or "")
        yield from (found[key] for key in (f"pre{name}", name, f"post{name}") if key in found)
