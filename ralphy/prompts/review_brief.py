"""What a review is told of the stories: everything that each one asks for, as far as there is room, and what was cut.

Where there is no room for all of it, descriptions and tasks go first, then the criteria of the last stories. Each story
keeps its line, and says what is missing and where it stands in full.
"""

from __future__ import annotations

from collections.abc import Sequence

from ralphy.documents.criteria import items_of, titled_lists
from ralphy.pipeline.model import Story
from ralphy.prompts.budget import clip, size_of

_MOST_NAMED = 10
_NOTE_BYTES = 150  # what the sentence on what is left out takes at most, without the name of the file


def stories_for_review(stories: Sequence[Story], max_bytes: int, file: str) -> str:
    """The stories in at most `max_bytes`; `file` is where an agent finds what was left out."""
    less = f"(Descriptions and tasks omitted; see {file}.)"
    for said, block in (("", _whole), (less, _criteria)):
        text = "\n\n".join(part for part in (said, *map(block, stories)) if part)
        if size_of(text) <= max_bytes:
            return text
    return _as_many_as_fit(stories, max_bytes, file)


def _as_many_as_fit(stories: Sequence[Story], max_bytes: int, file: str) -> str:
    """The criteria of the first stories, and a line for each of the rest."""
    lines = [f"{_headline(story)} (criteria omitted)" for story in stories]
    room = max_bytes - sum(size_of(line) + 2 for line in lines) - size_of(file) - _NOTE_BYTES
    whole = 0
    for story, line in zip(stories, lines, strict=True):
        room -= max(0, size_of(_criteria(story)) - size_of(line))
        if room < 0:
            break
        whole += 1
    said = (f"(Descriptions and tasks omitted, and the criteria of {len(stories) - whole} of "
            f"{len(stories)} stories; see {file}.)")  # fmt: skip
    blocks = [_criteria(story) for story in stories[:whole]]
    return clip("\n\n".join([said, *blocks, "\n".join(lines[whole:])]).strip(), max_bytes)


def _whole(story: Story) -> str:
    """The story with all that it asks for, and where its work is found."""
    description = str(story.raw.get("description") or "").strip()
    notes = str(story.raw.get("notes") or "").strip()
    lists = [f"{title}:\n" + "\n".join(item.bullet() for item in items) for title, items in titled_lists(story.raw)]
    parts = [_headline(story), description, *lists, f"Notes: {notes}" if notes else "", _pointers(story)]
    return "\n".join(part for part in parts if part)


def _criteria(story: Story) -> str:
    items = items_of(story.raw, "acceptanceCriteria")
    return "\n".join([_headline(story), *(item.bullet() for item in items)])


def _headline(story: Story) -> str:
    return f"## {story.id} {story.title} [{story.status.value}]"


def _pointers(story: Story) -> str:
    """The files that the story changed, and its tests among them."""
    testing = story.raw.get("testing") or {}
    named = {"Files": story.execution.get("files_modified"), "Tests": testing.get("test_files")}
    return "\n".join(f"{title}: {_listed(files)}" for title, files in named.items() if files)


def _listed(files: Sequence[object]) -> str:
    more = f" and {len(files) - _MOST_NAMED} more" if len(files) > _MOST_NAMED else ""
    return ", ".join(map(str, files[:_MOST_NAMED])) + more
