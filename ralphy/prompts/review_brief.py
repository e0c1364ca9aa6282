"""The stories in a review's prompt: all that each asks for, as far as there is room.

Without room for everything, descriptions and tasks are left out first, then the criteria of the last stories. Each
story keeps its headline, and a note says what is missing and which file has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ralphy.documents.criteria import LISTS, Item, titled_lists
from ralphy.documents.review import CRITERIA, criteria_of
from ralphy.pipeline.model import Story
from ralphy.prompts.budget import clip, size_of
from ralphy.text.first_few import first_few

_MOST_NAMED = 10
_NOTE_BYTES = 150  # the size of the note on what is left out, at most, without the file's name


def stories_for_review(
    stories: Sequence[Story], max_bytes: int, file: str, commits: Mapping[str, str] | None = None
) -> str:
    """The stories in at most `max_bytes`; `file` has what is left out, `commits` the commits of the stories."""
    less = f"(Descriptions and tasks omitted; see {file}.)"
    made = commits or {}
    whole = [_whole(story, made.get(story.id, "")) for story in stories]
    shorter = ["\n".join([_criteria(story), *_pointers(story, made.get(story.id, ""))]) for story in stories]
    for note, blocks in (("", whole), (less, shorter), (less, [_criteria(story) for story in stories])):
        text = "\n\n".join(part for part in (note, *blocks) if part)
        if size_of(text) <= max_bytes:
            return text
    return _as_many_as_fit(stories, max_bytes, file)


def _as_many_as_fit(stories: Sequence[Story], max_bytes: int, file: str) -> str:
    """The criteria of the first stories, and a headline for each of the others."""
    lines = [f"{_headline(story)} (criteria omitted)" for story in stories]
    room = max_bytes - sum(size_of(line) + 2 for line in lines) - size_of(file) - _NOTE_BYTES
    whole = 0
    for story, line in zip(stories, lines, strict=True):
        room -= max(0, size_of(_criteria(story)) - size_of(line))
        if room < 0:
            break
        whole += 1
    note = (f"(Descriptions and tasks omitted, and the criteria of {len(stories) - whole} of "
            f"{len(stories)} stories; see {file}.)")  # fmt: skip
    blocks = [_criteria(story) for story in stories[:whole]]
    return clip("\n\n".join([note, *blocks, "\n".join(lines[whole:])]).strip(), max_bytes)


def _whole(story: Story, commit: str) -> str:
    """The story with all its texts, its commit, files and tests."""
    description = str(story.raw.get("description") or "").strip()
    notes = str(story.raw.get("notes") or "").strip()
    lists = [f"{title}:\n" + "\n".join(_named(story) if title == LISTS[CRITERIA] else [item.bullet() for item in items])
             for title, items in titled_lists(story.raw)]  # fmt: skip
    parts = [_headline(story), description, *lists, f"Notes: {notes}" if notes else "", *_pointers(story, commit)]
    return "\n".join(part for part in parts if part)


def _criteria(story: Story) -> str:
    return "\n".join([_headline(story), *_named(story)])


def _named(story: Story) -> Iterator[str]:
    """The story's criteria with their ids, and the results of their own tests."""
    for one in criteria_of(story):
        name = f"{one.id} {one.item.id}".strip()
        yield Item(name, one.item.text).bullet() + _own_tests(story, one.place)


def _own_tests(story: Story, place: int) -> str:
    rows = [row for row in _evidence(story).get("acceptance") or () if row.get("criterion") == place]
    outcomes = [f"{row.get('test')} was {row.get('before')}, is {row.get('after')}" for row in rows[:_MOST_NAMED]]
    return f"\n  Acceptance tests: {'; '.join(outcomes)}" if outcomes else ""


def _evidence(story: Story) -> Mapping[str, Any]:
    return story.raw.get("evidence") or {}


def _headline(story: Story) -> str:
    return f"## {story.id} {story.title} [{story.status.value}]"


def _pointers(story: Story, commit: str) -> list[str]:
    """The story's commit, the files that it changed, its test files, and the tests that fail without it."""
    testing = story.raw.get("testing") or {}
    proof = (_evidence(story).get("tests") or {}).get("red_first") or {}
    named = {"Files": story.execution.get("files_modified"), "Tests": testing.get("test_files"),
             "Fail without it": proof.get("tests")}  # fmt: skip
    return [*([f"Commit: {commit[:12]}"] if commit else []),
            *(f"{title}: {first_few(names, _MOST_NAMED)}" for title, names in named.items() if names)]  # fmt: skip


def unproved_parts(stories: Sequence[Story]) -> str:
    """The changes that no test needs, by story; "" if none are known."""
    by_story = [(story.id, _evidence(story).get("parts") or {}) for story in stories]
    return "\n".join(
        f"- {name}: {first_few(parts['unproved'], _MOST_NAMED)} (of {parts.get('of')} changes)"
        for name, parts in by_story if parts.get("unproved")
    )  # fmt: skip
