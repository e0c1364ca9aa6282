"""What an import has read: a project and its stories, with the fields of prd.json, and what was left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Story = dict[str, Any]
Files = Mapping[str, str]  # path below the folder, or a file's name -> text

_STATES = {  # the words of other tools for the state of a story
    "done": "completed complete done passed closed finished merged resolved verified x",
    "open": "pending todo to-do open new ready backlog planned started in-progress in-review review blocked failed"
    " hooked pinned",
    "gone": "skipped cancelled canceled deferred dropped duplicate rejected obsolete tombstone wontfix ~ -",
}
_STATE_OF = {word: state for state, words in _STATES.items() for word in words.split()}
# An id before a title: `AUTH-12:`; without the colon only `US-1` and its like, or a number that begins with 0. Other
# words with a number belong to the title: OAuth2 login, S3 upload, UTF-8 names.
_NAMED = re.compile(
    r"([A-Z][A-Za-z]*-\d[\w.-]*(?=:)|(?:US|GH|OS|PR)-\d[\w.-]*|[A-Z][A-Za-z]*-?0\d[\w.-]*)[:\s]\s*(\S.*)"
)


@dataclass(slots=True)
class ImportPlan:
    """`places` has a place such as `tasks.md:12` for each story; `left_out` has a sentence for each thing that is not
    imported, and `gone` the ids of stories among them."""

    project: str = ""
    stories: list[Story] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    more: dict[str, Any] = field(default_factory=dict)
    _unread: dict[tuple[str, str], int] = field(default_factory=dict)
    _ranges: list[tuple[str, int, int]] = field(default_factory=list)

    def add(self, new: Story, place: str) -> None:
        self.stories.append(new)
        self.places.append(place)

    def leave_out(self, story_id: str, title: str, why: str, place: str) -> None:
        """Note a story that is not imported: no story will wait for it."""
        self.gone.add(story_id)
        self.left_out.append(f"{place}: {' '.join(f'{story_id} {title}'.split())}: {why}")

    def leave_out_line(self, path: str, number: int) -> None:
        """Note a line of text that becomes part of no story; adjacent lines are one range."""
        if self._ranges and self._ranges[-1][0] == path and self._ranges[-1][2] in (number - 1, number):
            self._ranges[-1] = (path, self._ranges[-1][1], number)
        else:
            self._ranges.append((path, number, number))

    def leave_out_fields(self, row: Mapping[str, Any], known: Iterable[str], where: str) -> None:
        """Note the fields of an object that are not `known`, by the file that has them."""
        for name in row.keys() - set(known):
            key = (where.rpartition(":")[0] or where, str(name))
            self._unread[key] = self._unread.get(key, 0) + 1

    def list_left_out(self) -> None:
        """Append the noted lines and fields to what is left out."""
        for path, first, last in self._ranges:
            count = last - first + 1
            at, lines = (f"{path}:{first}", "1 line") if count == 1 else (f"{path}:{first}-{last}", f"{count} lines")
            self.left_out.append(f"{at}: {lines} of text")
        for (path, name), count in sorted(self._unread.items()):
            self.left_out.append(f"{path}: field {name}" + (f" of {count} tasks" if count > 1 else ""))

    def drop_unknown_dependencies(self, why: str) -> None:
        """Remove dependencies on stories that the source does not have; each is left out with the reason `why`."""
        known = self.gone | {raw["id"] for raw in self.stories}
        self._drop_dependencies(lambda one: one not in known, why)

    def drop_left_out_dependencies(self) -> None:
        """Remove dependencies on stories that were left out."""
        self._drop_dependencies(self.gone.__contains__, "which is left out")

    def _drop_dependencies(self, is_dropped: Callable[[str], bool], why: str) -> None:
        for raw, place in zip(self.stories, self.places, strict=True):
            for one in filter(is_dropped, list(raw.get("dependsOn", ()))):
                raw["dependsOn"].remove(one)
                self.left_out.append(f"{place}: {raw['id']} depends on {one}, {why}")

    def document(self) -> dict[str, Any]:
        """The prd.json of it."""
        named = {"project": self.project} if self.project else {}
        return {**named, **self.more, "userStories": self.stories}


def story(story_id: str, title: str, *, done: bool = False, **fields: Any) -> Story:
    """A story with those of the fields that are not empty."""
    given = {name: value for name, value in fields.items() if value not in (None, "", [], ())}
    state = {"passes": done, "status": "completed" if done else "pending"}
    return {"id": story_id, "title": " ".join(title.split()), **given, **state}


def state_of(status: str) -> str:
    """`done`, `open` or `gone` for the word of another tool; "" for an unknown one."""
    return _STATE_OF.get(re.sub(r"[\s_]+", "-", status.strip().lower()), "")


def named(text: str, number: int) -> tuple[str, str]:
    """(id, title) of a line that may begin with an id; without one, the id is made of the number."""
    match = _NAMED.fullmatch(text)
    return (match[1], match[2]) if match else (f"US-{number:03}", text)


def sections(text: str) -> Iterator[tuple[str, str]]:
    """(heading, text) of each section of the second level; the text before them has the heading ""."""
    parts = re.split(r"^##[ \t]+(.+?)[ \t#]*$", text, flags=re.M)
    yield "", parts[0].strip()
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        yield heading, body.strip()
