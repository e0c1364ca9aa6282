"""A change of the stories that a person asks for, as a value; a request is one that waits until the loop takes it.

A request cannot complete a story, and an added story has just the fields that `ralphy story add` gives it: so
writing one by hand gets no work accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Verb(Enum):
    """What is asked for; the value is the word on the command line."""

    ADD = "add"
    START = "start"
    FAIL = "fail"
    RESET = "reset"
    RESET_ALL = "reset all"


# The fields that a person can give to an added story.
GIVEN = ("title", "description", "acceptanceCriteria", "priority", "dependsOn")


@dataclass(frozen=True, slots=True)
class Change:
    """`story` is an id, "" for an added story that gets the next free one; `message` says why a story has failed."""

    verb: Verb
    story: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    message: str = ""

    @property
    def document(self) -> dict[str, Any]:
        """The change as JSON says it."""
        return {"verb": self.verb.value, "story": self.story, "given": dict(self.given), "message": self.message}

    @classmethod
    def of(cls, document: object) -> Change | None:
        """The change that a document says; None if it says none. What the fields hold is checked with prd.json."""
        if not isinstance(document, dict) or document.keys() != {"verb", "story", "given", "message"}:
            return None
        story, given, message = document["story"], document["given"], document["message"]
        verb = _VERBS.get(document["verb"]) if isinstance(document["verb"], str) else None
        is_sound = isinstance(story, str) and isinstance(message, str) and isinstance(given, dict)
        if verb is None or not is_sound or not given.keys() <= set(GIVEN):
            return None
        after = given.get("dependsOn", [])
        if verb is Verb.ADD and not (story and isinstance(after, list) and all(isinstance(id_, str) for id_ in after)):
            return None
        return cls(verb, story, given, message)


_VERBS = {verb.value: verb for verb in Verb}


@dataclass(frozen=True, slots=True)
class Request:
    """A change that is queued; `invalid` says why it cannot be read, then there is none."""

    id: str
    change: Change | None
    invalid: str = ""
