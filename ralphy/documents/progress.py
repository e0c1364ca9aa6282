"""progress.txt, the agents' shared memory: patterns on top, then an entry per attempt, within a limit of size.

Each entry is also in its story's document, in the same commit. progress.txt loses the oldest ones, since Git stores the
whole file with every commit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ralphy.documents.criteria import titled_lists
from ralphy.pipeline.model import Story
from ralphy.text.first_few import first_few
from ralphy.text.plain_text import replace_unprintable

MOST_BYTES = 64 * 1024
_MOST_PATTERNS = 60
_MOST_LEARNINGS = 4000
_MOST_PATTERN = 300
_MOST_NAME = 200
_ENTRY = re.compile(r"^(?=## \[)", re.M)
_UNNAMED = re.compile(r"^Run: (\S+)\n(?!Commit: )", re.M)
_PATTERN = re.compile(r"^\s*[-*]\s*pattern:\s*(\S.*)$", re.I | re.M)
_TITLE = "# Ralphy Progress Log"
_PATTERNS = "## Codebase Patterns"


@dataclass(frozen=True, slots=True)
class ProgressEntry:
    """One attempt, for people and later agents; `at` is ISO time, `checks` are sentences."""

    at: str
    story: str
    title: str
    attempt: int
    max_attempts: int
    status: str
    iteration: int
    run: str
    seconds: float
    files: Sequence[str]
    checks: Sequence[str]
    tail: str = ""
    error: str = ""
    learnings: str = ""

    def render(self) -> str:
        files = first_few([_line(name)[:_MOST_NAME] for name in self.files], 20)
        lines = [
            f"## [{self.at}] - {self.story} (attempt {self.attempt}/{self.max_attempts}) - {self.status}",
            f"Iteration: {self.iteration}",
            f"Story: {self.story} {self.title}",
            f"Run: {self.run}",
            f"Duration: {self.seconds:.1f} s",
            f"Files: {files or 'none'}",
            f"Checks: {_line('; '.join(self.checks)) or 'none'}",
        ]
        if self.error:
            lines.append(f"Error: {_guarded(self.error)}")
        if self.tail:
            lines += [f"    {line}" for line in _guarded(self.tail).splitlines()[-20:]]
        if self.learnings.strip():
            lines += [
                "",
                "**Learnings for future iterations:**",
                _guarded(self.learnings.strip()[:_MOST_LEARNINGS]),
            ]
        return "\n".join([*lines, "---", ""])


def _guarded(text: str) -> str:
    """Text of an agent or a test run that cannot pass for a heading, a rule or a terminal command."""
    plain = replace_unprintable(text, "\n\t")
    return re.sub(r"^(\s*)(#+ |---)", r"\1 \2", plain, flags=re.M)


def _line(text: str) -> str:
    """Text on one line: a file's name may hold a line break, or bytes that are no text."""
    return replace_unprintable(text, by="�")


def added(text: str, entry: ProgressEntry, started: str) -> str:
    """progress.txt with one more entry: new patterns of its learnings go on top, the oldest entries are dropped."""
    head, entries = _split(text or f"{_TITLE}\nStarted: {started}\n\n{_PATTERNS}\n\n---\n")
    new_patterns = _PATTERN.findall(_guarded(entry.learnings[:_MOST_LEARNINGS]))
    head = _with_patterns(head, [pattern.strip()[:_MOST_PATTERN] for pattern in new_patterns])
    entries.append(entry.render())
    return _bounded(head, entries)


def run_without_commit(text: str) -> str:
    """The run of the last story that landed, as long as its entry names no commit; "" otherwise."""
    landed = [entry for entry in _split(text)[1] if entry.split("\n", 1)[0].endswith(" - completed")]
    match = _UNNAMED.search(landed[-1]) if landed else None
    return match[1] if match else ""


def with_commit(text: str, run: str, commit: str) -> str:
    """progress.txt with the commit in a run's entry, which a later commit adds."""
    return text.replace(f"\nRun: {run}\n", f"\nRun: {run}\nCommit: {commit[:10]}\n", 1)


def _split(text: str) -> tuple[str, list[str]]:
    head, *entries = _ENTRY.split(text)
    return head, entries


def _bounded(head: str, entries: list[str]) -> str:
    if len(head.encode()) > MOST_BYTES // 2:
        head = head.encode()[: MOST_BYTES // 2].decode("utf-8", "ignore") + "\n…\n---\n"
    size, count = len(head.encode()), 0
    for entry in reversed(entries):
        size += len(entry.encode())
        if size > MOST_BYTES and count:
            break
        count += 1
    return head + "".join(entries[len(entries) - count :])


def _with_patterns(head: str, patterns: Sequence[str]) -> str:
    if not re.search(f"^{_PATTERNS}", head, re.M):
        head = f"{head.rstrip()}\n\n{_PATTERNS}\n\n---\n"
    lines = head.removesuffix("\n").split("\n")
    start = next(i for i, line in enumerate(lines) if line.startswith(_PATTERNS))
    known = {line.strip() for line in lines}
    new = [row for row in dict.fromkeys(f"- {p}" for p in patterns) if row not in known]
    room = max(0, _MOST_PATTERNS - sum(1 for line in lines[start:] if line.startswith("- ")))
    end = next((i for i in range(start + 1, len(lines)) if lines[i].startswith("---")), len(lines))
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    return "\n".join([*lines[:end], *new[:room], *lines[end:]]) + "\n"


def story_document(existing: str, story: Story, entry: ProgressEntry) -> str:
    """stories/<id>.md: the story, and every attempt at it."""
    return f"{existing.rstrip()}\n\n{entry.render()}" if existing.strip() else f"{_document(story)}\n{entry.render()}"


def _document(story: Story) -> str:
    context = story.raw.get("context") or {}
    lists = (f"## {title}\n" + "\n".join(item.bullet() for item in items) for title, items in titled_lists(story.raw))
    parts = [
        f"# {story.id} {story.title}",
        str(story.raw.get("description") or ""),
        *lists,
        f"Parent spec: {context['parent_spec']}" if context.get("parent_spec") else "",
        f"Parent brief: {context['parent_brief']}" if context.get("parent_brief") else "",
        "## Progress",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"
