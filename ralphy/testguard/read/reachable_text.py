"""What of a test's text is reached, and can fail, in languages of braces: what never runs is taken away."""

from __future__ import annotations

import re
from collections.abc import Iterator

_STRING = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`")
_BLOCK = re.compile(r"\b(?:(?P<try>try)\s*|(?:if|while)\s*\(?\s*(?:false|0)\s*\)?\s*)\{")
_CATCH = re.compile(r"\s*catch\s*(?:\([^()]*\))?\s*\{")
_BRACE = re.compile(r"[{}]")
_SAYS = re.compile(r"\b(?:throw|expect|assert|fail|done|reject|should|t\.\w+)\b")
_RETURN = re.compile(r"^[ \t]*return;?[ \t]*$", re.M)


def reached(text: str) -> str:
    """A test's text without `if (false) {…}` and without a `try` whose `catch` says nothing, up to a bare `return`."""
    masked = _masked(text)
    for begin, end in reversed(list(_dead(masked))):
        text, masked = text[:begin] + text[end:], masked[:begin] + masked[end:]
    return text[: _first_return(masked)]


def _dead(masked: str) -> Iterator[tuple[int, int]]:
    """The parts that never run or swallow their failures, in order, none within another."""
    at = 0
    for found in _BLOCK.finditer(masked):
        if found.start() < at:
            continue
        end = _closing(masked, found.end())
        caught = _CATCH.match(masked, end) if found["try"] else None
        if caught:
            end = _closing(masked, caught.end())
        if not found["try"] or (caught and not _SAYS.search(masked, caught.end(), end)):
            yield found.start(), end
            at = end


def _first_return(masked: str) -> int:
    """Where a bare `return` stands in the test's own block, else the end."""
    depth, at = 0, 0
    for found in _RETURN.finditer(masked):
        depth += masked.count("{", at, found.start()) - masked.count("}", at, found.start())
        at = found.start()
        if depth <= 1:
            return at
    return len(masked)


def _masked(text: str) -> str:
    """The same, as long, with nothing in its strings."""
    return _STRING.sub(lambda found: "_" * len(found[0]), text)


def _closing(text: str, at: int) -> int:
    """Where the block ends that was opened before this place."""
    depth = 1
    for found in _BRACE.finditer(text, at):
        depth += 1 if found[0] == "{" else -1
        if not depth:
            return found.end()
    return len(text)
