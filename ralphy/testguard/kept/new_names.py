"""Do edited tests only follow new names: a function or a module that the story renamed?

Two texts are the same but for words that are gone from the code, each in the place of one that is new there. So what
the tests expect is what it was. In text literals only the names of files count, where something is imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from posixpath import basename

_TOKEN = re.compile(r"[A-Za-z_$][\w$]*|\d[\w.]*|\S")
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_TEXT = re.compile(r"""'''[\s\S]*?'''|\"\"\"[\s\S]*?\"\"\"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`[^`]*`""")
_IMPORTS = re.compile(r"\b(?:import|require|from|use|mod|mock|patch)\b")


@dataclass(frozen=True, slots=True)
class NewNames:
    """Words of the code and names of its files, those that are `gone` and those that have `come`."""

    gone: frozenset[str] = frozenset()
    come: frozenset[str] = frozenset()
    gone_files: frozenset[str] = frozenset()
    come_files: frozenset[str] = frozenset()

    @classmethod
    def of(cls, files: Iterable[tuple[str, str | None, str | None]]) -> NewNames:
        """Of the changed files of code: (path, text before or None, text now or None)."""
        old, new, old_files, new_files = set[str](), set[str](), set[str](), set[str]()
        for path, was, now in files:
            stems = {basename(path).partition(".")[0], *path.split("/")[:-1]} - {""}
            old |= _words(was)
            new |= _words(now)
            old_files |= stems if was is not None else set()
            new_files |= stems if now is not None else set()
        return cls(frozenset(old - new), frozenset(new - old), frozenset(old_files - new_files),
                   frozenset(new_files - old_files))  # fmt: skip

    def explain(self, old: str, new: str) -> bool:
        """Are two texts of tests the same but for these names?"""
        if not (self.gone or self.gone_files) or old == new:
            return False
        names: dict[str, str] = {}
        was, now = (list(_tokens(text)) for text in (old, new))
        if len(was) != len(now):
            return False
        for (one, in_text, imports), (other, _, _) in zip(was, now, strict=True):
            if one != other and names.setdefault(one, other) != other:
                return False
            if one != other and not self._is_new_name(one, other, in_text=in_text, imports=imports):
                return False
        return len(set(names.values())) == len(names)

    def _is_new_name(self, one: str, other: str, *, in_text: bool, imports: bool) -> bool:
        is_file = imports and one in self.gone_files and other in self.come_files
        return is_file or (not in_text and one in self.gone and other in self.come)


def _words(text: str | None) -> set[str]:
    return set(_WORD.findall(_TEXT.sub(" ", text))) if text else set()


def _tokens(text: str) -> Iterator[tuple[str, bool, bool]]:
    """The words and signs of a text, whether each stands in a text literal, and in a line that imports."""
    texts = [(found.start(), found.end()) for found in _TEXT.finditer(text)]
    at = 0
    for line in text.splitlines(keepends=True):
        imports = _IMPORTS.search(line) is not None
        for found in _TOKEN.finditer(line):
            place = at + found.start()
            while texts and texts[0][1] <= place:
                texts.pop(0)
            yield found[0], bool(texts) and texts[0][0] <= place, imports
        at += len(line)
