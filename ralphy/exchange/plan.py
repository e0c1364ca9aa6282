"""A plan between two formats: a project and its stories, in the fields of prd.json."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ralphy.documents.criteria import item_of

Story = dict[str, Any]
Files = Mapping[str, str]  # path below the folder, or a file's name -> text

_STATES = {  # what other tools call a story: done, still open, or given up
    "done": "completed complete done passed closed finished merged resolved verified x",
    "open": "pending todo to-do open new ready backlog planned started in-progress in-review review blocked failed"
    " hooked pinned",
    "gone": "skipped cancelled canceled deferred dropped duplicate rejected obsolete tombstone wontfix ~ -",
}
_STATE_OF = {word: state for state, words in _STATES.items() for word in words.split()}
# What an id looks like: `AUTH-12:`; without the colon only one that Ralphy gives, or a number that begins with 0. Other
# words with a number begin a title: OAuth2 login, S3 upload, UTF-8 names.
_NAMED = re.compile(
    r"([A-Z][A-Za-z]*-\d[\w.-]*(?=:)|(?:US|GH|OS|PR)-\d[\w.-]*|[A-Z][A-Za-z]*-?0\d[\w.-]*)[:\s]\s*(\S.*)"
)


@dataclass(slots=True)
class ImportPlan:
    """`places` has a place such as `tasks.md:12` for each story; `left_out` says by line what was not taken over, and
    `gone` has the ids of stories among it."""

    project: str = ""
    stories: list[Story] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    more: dict[str, Any] = field(default_factory=dict)
    unread: dict[tuple[str, str], int] = field(default_factory=dict)
    _text: list[tuple[str, int, int]] = field(default_factory=list)

    def add(self, new: Story, place: str) -> None:
        self.stories.append(new)
        self.places.append(place)

    def leave_out(self, story_id: str, title: str, why: str, place: str) -> None:
        """Note a story that is not taken over: nothing waits for it."""
        self.gone.add(story_id)
        self.left_out.append(f"{place}: {' '.join(f'{story_id} {title}'.split())}: {why}")

    def leave_out_line(self, path: str, number: int) -> None:
        """Note a line of text that becomes part of no story: those that stand together are told as one."""
        if self._text and self._text[-1][0] == path and self._text[-1][2] in (number - 1, number):
            self._text[-1] = (path, self._text[-1][1], number)
        else:
            self._text.append((path, number, number))

    def leave_out_fields(self, row: Mapping[str, Any], known: Iterable[str], where: str) -> None:
        """Note the fields of an object that nothing is made of, by the file that has them."""
        for name in row.keys() - set(known):
            key = (where.rpartition(":")[0] or where, str(name))
            self.unread[key] = self.unread.get(key, 0) + 1

    def tell_left_out(self) -> None:
        """Put the lines and fields that were noted behind the other things that are left out."""
        for path, first, last in self._text:
            count = last - first + 1
            at, lines = (f"{path}:{first}", "1 line") if count == 1 else (f"{path}:{first}-{last}", f"{count} lines")
            self.left_out.append(f"{at}: {lines} of text")
        for (path, name), count in sorted(self.unread.items()):
            self.left_out.append(f"{path}: field {name}" + (f" of {count} tasks" if count > 1 else ""))

    def wait_for_those_here(self, why: str) -> None:
        """Take from the dependencies what is no story of this plan, with a line that says `why`."""
        known = self.gone | {raw["id"] for raw in self.stories}
        self._stop_waiting(lambda one: one not in known, why)

    def wait_for_none_left_out(self) -> None:
        """Take the stories that were left out from the dependencies of the others, with a line for each."""
        self._stop_waiting(self.gone.__contains__, "which is left out")

    def _stop_waiting(self, is_over: Callable[[str], bool], why: str) -> None:
        for raw, place in zip(self.stories, self.places, strict=True):
            for one in filter(is_over, list(raw.get("dependsOn", ()))):
                raw["dependsOn"].remove(one)
                self.left_out.append(f"{place}: {raw['id']} depends on {one}, {why}")

    def document(self) -> dict[str, Any]:
        """The prd.json of it."""
        named = {"project": self.project} if self.project else {}
        return {**named, **self.more, "userStories": self.stories}


def story(story_id: str, title: str, *, done: bool = False, **fields: Any) -> Story:
    """A story with those of the fields that say something."""
    given = {name: value for name, value in fields.items() if value not in (None, "", [], ())}
    state = {"passes": done, "status": "completed" if done else "pending"}
    return {"id": story_id, "title": " ".join(title.split()), **given, **state}


def state_of(status: str) -> str:
    """`done`, `open` or `gone` for the word of another tool; "" for one that nobody knows."""
    return _STATE_OF.get(re.sub(r"[\s_]+", "-", status.strip().lower()), "")


def is_done(status: object) -> bool:
    return status is True or (isinstance(status, str) and state_of(status) == "done")


def named(text: str, number: int, prefix: str = "US-") -> tuple[str, str]:
    """(id, title) of a line that may begin with an id."""
    match = _NAMED.fullmatch(text)
    return (match[1], match[2]) if match else (f"{prefix}{number:03}", text)


def words(items: Iterable[object]) -> list[str]:
    """Criteria or tasks as sentences, whatever their form."""
    return [text for item in items if (text := item_of(item).text)]


def sections(text: str) -> Iterator[tuple[str, str]]:
    """(heading, text) of the second level; what stands before it has the heading ""."""
    parts = re.split(r"^##[ \t]+(.+?)[ \t#]*$", text, flags=re.M)
    yield "", parts[0].strip()
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        yield heading, body.strip()


def is_completed(raw: Mapping[str, Any]) -> bool:
    return raw.get("passes") is True or is_done(raw.get("status"))
