"""Which stories can be worked on side by side: those that are ready, and likely to touch other files.

What a story touches is declared in it (`files`), named in its texts and in its section of SPEC.md, or known from an
earlier attempt. A wrong guess costs no work: what lands later is merged onto what landed before, and checked again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ralphy.pipeline.model import Prd, Story
from ralphy.pipeline.stories import all_ready

# A path with a folder and an ending, or a name with an ending that is set as code.
_PATH = re.compile(r"(?<![\w./:@-])((?:[\w.@-]+/)+[\w@-][\w.@-]*\.\w{1,8})\b|`([\w@-][\w.@-]*\.\w{1,8})`")


def startable(prd: Prd, in_work: frozenset[str], paths: Mapping[str, frozenset[str]]) -> list[Story]:
    """The ready stories that nobody works on and that share no file with those in work, the next one first."""
    taken = frozenset[str]().union(*(paths.get(story, frozenset()) for story in in_work))
    free = (story for story in all_ready(prd) if story.id not in in_work)
    found = [story for story in free if taken.isdisjoint(paths.get(story.id, frozenset()))]
    return sorted(found, key=lambda story: (story.priority, story.index))


def likely_paths(story: Story, section: str, touched: Iterable[str] = ()) -> frozenset[str]:
    """The files that a story is likely to change: `section` is what SPEC.md says of it, `touched` what an earlier
    attempt changed. Files that are declared stand for all that is said."""
    declared = story.raw.get("files")
    if isinstance(declared, list) and declared:
        return frozenset(str(path) for path in declared).union(touched)
    texts = [section, *_texts({name: story.raw.get(name) for name in _SAID})]
    return frozenset(found[0] or found[1] for text in texts for found in _PATH.findall(text)).union(touched)


_SAID = ("title", "description", "acceptanceCriteria", "tasks", "notes")


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
