"""The parts of long texts that a prompt needs, within a fixed number of bytes.

The prompt of story 500 is as long as that of story 5. Sizes are bytes of UTF-8; a note says what is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from ralphy.checks.first_error import first_error
from ralphy.text.plain_text import without_controls

_LINE_END = re.compile(r"\r+\n")
_ENTRY = re.compile(r"^## \[([^\]\n]{1,64})\] - (\S+)", re.M)
_SECTION = re.compile(r"^## ", re.M)
_PATTERNS = re.compile(r"^## Codebase Patterns\b.*$", re.M)
_PATTERNS_END = re.compile(r"^(?:## |---[ \t]*$)", re.M)

# The room for two texts in a story's prompt.
PROGRESS_BYTES = 1500
FAILURE_BYTES = 1200

# How much of a check's output is read: what matters is at its end.
_TAIL_CHARS = 65536
# How many of the last entries are included, whatever story they belong to.
_LAST_ENTRIES = 3


class _Entry(NamedTuple):
    at: str
    story: str
    text: str


def clip(text: str, max_bytes: int, head_share: float = 0.5) -> str:
    """The text in at most `max_bytes`: its head, a line that says how much is missing, and its tail.

    `head_share` (0 to 1) is the part of the room that the head gets. Characters are never split.
    """
    data = text.encode("utf-8", "replace")
    if len(data) <= max_bytes:
        return data.decode()
    note = f"\n[… {len(data):,} bytes in total, middle omitted …]\n"
    room = max_bytes - len(note.encode())
    if room <= 0:
        return data[: max(max_bytes, 0)].decode("utf-8", "ignore")
    head = int(room * head_share)
    start = data[:head].decode("utf-8", "ignore")
    end = data[len(data) - (room - head) :].decode("utf-8", "ignore")
    return f"{start}{note}{end}"


def digest_failure(checks_failed: Sequence[str], tail: str, reason: str = "", max_bytes: int = FAILURE_BYTES) -> str:
    """Why an attempt was refused, for the next one: the reason, the failed checks, and an excerpt of their output."""
    parts = [clip(reason, max_bytes // 3)] if reason else []
    if checks_failed:
        parts.append(clip("Failed: " + ", ".join(checks_failed), max_bytes // 4))
    start = "\n".join(parts)
    start = f"{start}\n\n" if start else ""
    return (start + excerpt(tail, max_bytes - len(start.encode("utf-8", "replace")))).rstrip("\n")


def excerpt(output: str, max_bytes: int) -> str:
    """A check's output in at most `max_bytes`: all of it if it fits, else its first error and its end.

    Terminal codes, redrawn progress lines and repeated lines are left out.
    """
    end = "\n".join(_squeezed(_plain(output[-_TAIL_CHARS:]).splitlines())).strip("\n")
    if size_of(end) <= max_bytes:
        return end
    first = first_error(_plain(output))
    if first is None:
        return clip(end, max_bytes, 0.2)
    cause = clip("\n".join(_squeezed(first.excerpt)).strip("\n"), max_bytes * 3 // 5, 0.8)
    head = f"The first error: {first.line}\n" if first.place else ""
    head = f"{clip(head, max_bytes // 4)}{cause}\n[…]\n"
    room = max_bytes - size_of(head)
    return f"{head}{_last_lines(end, room)}" if room > 0 else clip(head, max_bytes, 1.0)


def _last_lines(text: str, max_bytes: int) -> str:
    """The last whole lines that fit, or the end of a longer line."""
    tail = text.encode("utf-8", "replace")[-max_bytes:].decode("utf-8", "ignore")
    return tail.partition("\n")[2] or tail


def pick_progress(progress_text: str, story_ids: Sequence[str], max_bytes: int = PROGRESS_BYTES) -> str:
    """The parts of progress.txt for the next story: the patterns, then entries, newest first.

    The entries are the newest one of each id (the story's own and its dependencies'), then the last entries of all.
    Patterns get at most half of the room, an entry half of the rest.
    """
    text = _LINE_END.sub("\n", progress_text)
    entries = _entries(text)
    patterns = _patterns(text)
    if not entries and not patterns:
        return "" if _PATTERNS.search(text) else clip(text.strip(), max_bytes, 0.0)
    picked = clip(patterns, max_bytes // 2)
    room = max_bytes - size_of(picked)
    chosen: dict[int, str] = {}
    for index in _wanted(entries, story_ids):
        entry = clip(entries[index].text, room // 2 if len(entries) > 1 else room - 2)
        if sum(size_of(other) + 2 for other in (*chosen.values(), entry)) <= room:
            chosen[index] = entry
    return "\n\n".join(part for part in (picked, *(chosen[i] for i in sorted(chosen, reverse=True))) if part)


def fence(name: str, text: str, nonce: str) -> str:
    """The text between two marker lines that carry the run's nonce; "" stays "".

    The text cannot close the fence: the nonce is removed from it.
    """
    if not text:
        return ""
    inside = text.replace(nonce, "") if nonce else text
    return f"[[BEGIN {name} {nonce}]]\n{inside}\n[[END {name} {nonce}]]"


def _plain(text: str) -> str:
    """The text without terminal codes, and with the last state of redrawn lines."""
    lines = _LINE_END.sub("\n", text).split("\n")
    return without_controls("\n".join(line.rpartition("\r")[2] for line in lines))


def _squeezed(lines: Sequence[str]) -> Iterator[str]:
    """The lines, with repeated ones once and counted."""
    for line, same in groupby(line.rstrip() for line in lines):
        yield line
        if line and (times := len(list(same))) > 1:
            yield f"[the line above {times} times]"


def _patterns(text: str) -> str:
    match = _PATTERNS.search(text)
    if not match:
        return ""
    end = _PATTERNS_END.search(text, match.end())
    body = text[match.end() : end.start() if end else len(text)].strip()
    return f"{match[0]}\n{body}" if body else ""


def _entries(text: str) -> list[_Entry]:
    """Every entry, oldest first; a union merge may have put them in another order."""
    entries = []
    for start in _ENTRY.finditer(text):
        after = _SECTION.search(text, start.end())
        body = text[start.start() : after.start() if after else len(text)].rstrip()
        entries.append(_Entry(start[1], start[2], body.removesuffix("---").rstrip()))
    return sorted(entries, key=lambda entry: entry.at)


def _wanted(entries: Sequence[_Entry], story_ids: Sequence[str]) -> list[int]:
    """Indexes, the most useful first: the newest entry of each id, then the last ones; each once."""
    newest = {entry.story: index for index, entry in enumerate(entries)}
    own = [newest[story] for story in story_ids if story in newest]
    last = range(len(entries) - 1, max(len(entries) - 1 - _LAST_ENTRIES, -1), -1)
    return list(dict.fromkeys([*own, *last]))


def size_of(text: str) -> int:
    """The bytes of a text in a prompt."""
    return len(text.encode("utf-8", "replace"))
