"""Which stories a person asked for: ids, lists and ranges, as `US-003`, `US-001,US-004` or `US-003..US-005`.

The pieces that a story was split into come along: it cannot be completed without them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ralphy.pipeline.model import Prd, Story

_RANGE = re.compile(r"(.*?)(\d+)\.\.(?:(.*?)(\d+))")


def words_of(texts: Sequence[str]) -> tuple[str, ...]:
    """The ids and ranges of options that may each hold several, separated by commas."""
    return tuple(word.strip() for text in texts for word in text.split(",") if word.strip())


def chosen(prd: Prd, words: Sequence[str]) -> tuple[frozenset[str], tuple[str, ...]]:
    """(the ids that are meant, the words that mean none); without words, all ids."""
    ids = [story.id for story in prd.stories]
    if not words:
        return frozenset(ids), ()
    meant = {word: _meant(ids, word) for word in words}
    named = {one for matches in meant.values() for one in matches}
    pieces = {story.id for story in prd.stories if split_from(story) in named}
    return frozenset(named | pieces), tuple(w for w in words if not meant[w])


def split_from(story: Story) -> str:
    """The story that this one is a piece of; "" if it is none."""
    context = story.raw.get("context")
    return str(context.get("split_from") or "") if isinstance(context, dict) else ""


def _meant(ids: Sequence[str], word: str) -> list[str]:
    ends = _RANGE.fullmatch(word)
    if ends is None or (ends[3] and ends[3].lower() != ends[1].lower()):
        return [story_id for story_id in ids if story_id.lower() == word.lower()]
    return [story_id for story_id in ids if _is_between(story_id, ends[1], int(ends[2]), int(ends[4]))]


def _is_between(story_id: str, prefix: str, first: int, last: int) -> bool:
    number = story_id[len(prefix) :]
    return story_id.lower().startswith(prefix.lower()) and number.isdecimal() and first <= int(number) <= last
