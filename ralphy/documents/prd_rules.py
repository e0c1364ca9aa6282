"""The rules for a prd.json that its schema cannot express: no base branch, unique ids, dependencies that can be met.

`problems` takes any JSON value, and leaves values of a wrong type to the schema.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

from ralphy.documents.dependencies import DEPENDS_ON, SPELLINGS, disagrees, id_of, listed
from ralphy.text.line_numbers import ValuePath
from ralphy.text.plain_text import escaped
from ralphy.text.strict_json import preview


@dataclass(frozen=True, slots=True)
class Problem:
    """`message` continues the rendered path: `userStories[2].id` + `is "US-001" again`."""

    path: ValuePath
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{rendered(self.path)} {self.message}"


def rendered(path: Sequence[str | int]) -> str:
    """A path as people write it: `userStories[2].priority`; the whole document for the empty one."""
    parts = [f"[{step}]" if isinstance(step, int) else f".{_name(step)}" for step in path]
    return "".join(parts).removeprefix(".") or "the document"


def problems(document: Any, base_branches: Collection[str] = (), *, known_ids: Collection[str] = ()) -> list[Problem]:
    """The rules that the document breaks, the most important first.

    `known_ids` are stories outside the document that dependencies may name: those that a draft adds to.
    """
    if not isinstance(document, dict):
        return []
    stories = document.get("userStories")
    stories = stories if isinstance(stories, list) else []
    named = [(n, name, story) for n, story in enumerate(stories)
             if isinstance(story, dict) and (name := id_of(story.get("id"))) is not None]  # fmt: skip
    return [
        *_branch(document.get("branchName"), base_branches),
        *_ids(named),
        *_dependencies(named, frozenset(known_ids)),
    ]


Named = Sequence[tuple[int, str, dict[str, Any]]]


def _branch(name: Any, base_branches: Collection[str]) -> Iterable[Problem]:
    if isinstance(name, str) and name in base_branches:
        hint = "write a name such as ralph/login, or remove branchName"
        yield Problem(("branchName",), f"is {preview(name)}, which is the base branch", hint)


def _ids(named: Named) -> Iterable[Problem]:
    first: dict[str, tuple[int, str]] = {}
    for index, story_id, _ in named:
        path = ("userStories", index, "id")
        earlier, same = first.setdefault(story_id.lower(), (index, story_id))
        if earlier != index:
            but = "" if same == story_id else " except for case"
            message = f"is {preview(story_id)}, the same as userStories[{earlier}].id{but}"
            yield Problem(path, message, "give each story a unique id")


def _dependencies(named: Named, known_ids: Collection[str]) -> Iterable[Problem]:
    places = {story_id: index for index, story_id, _ in named}
    spelled = {story_id.lower(): story_id for story_id in places}
    graph: dict[str, list[str]] = {}
    for index, story_id, story in named:
        if not any(story.get(name) for name in SPELLINGS):
            continue
        inside = graph.setdefault(story_id, [])
        for field, n, needed in listed(story):
            path = ("userStories", index, field, n)
            if needed == story_id:
                yield Problem(path, "is the story itself", "remove it")
            elif needed in places:
                inside.append(needed)
            elif needed not in known_ids:
                near = spelled.get(needed.strip().lower())
                yield Problem(path, f"is {preview(needed)}, no such story", _hint(near))
        if other := disagrees(story):
            message = f"is {_ids_of(story[other])}, but {DEPENDS_ON} is {_ids_of(story[DEPENDS_ON])}"
            yield Problem(("userStories", index, other), message, f"keep only {DEPENDS_ON}")
    yield from _circles(graph, named)


def _ids_of(listed: Iterable[Any]) -> str:
    return escaped(", ".join(str(one)[:64] for one in listed))[:200] or "empty"


def _hint(known: str | None) -> str:
    return f"did you mean {escaped(known[:64])}?" if known else "use a story's id, or remove it"


def _circles(graph: dict[str, list[str]], named: Named) -> Iterable[Problem]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        ring: list[str] = error.args[1][::-1]
        index = next(index for index, story_id, _ in named if story_id == ring[0])
        ends = ring if len(ring) <= 8 else [*ring[:6], "…", ring[-1]]
        message = f"is circular: {' → '.join(escaped(story_id[:64]) for story_id in ends)}"
        yield Problem(("userStories", index, "dependsOn"), message, "remove one of these dependencies")


def _name(key: str) -> str:
    return key if key.isidentifier() or key in ("$schema",) else preview(key, 40)
