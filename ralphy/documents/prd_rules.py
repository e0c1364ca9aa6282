"""What must hold for a prd.json beyond its schema: no base branch, unique ids, and dependencies that can be met.

`problems` takes any value that JSON can say: what has the wrong type is the schema's business, and is
passed over here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

from ralphy.documents.dependencies import OWN, SPELLINGS, disagrees, id_of, listed
from ralphy.text.plain_text import escaped
from ralphy.text.strict_json import preview

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """`message` continues the rendered path: `userStories[2].id` + `is "US-001" again`."""

    path: Path
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{rendered(self.path)} {self.message}"


def rendered(path: Sequence[str | int]) -> str:
    """A path as people write it: `userStories[2].priority`; the whole document for the empty one."""
    parts = [f"[{step}]" if isinstance(step, int) else f".{_name(step)}" for step in path]
    return "".join(parts).removeprefix(".") or "the document"


def problems(document: Any, base_branches: Collection[str] = (), *, known_ids: Collection[str] = ()) -> list[Problem]:
    """Everything that is wrong with the document's content, the most important first.

    `known_ids` are stories outside the document that dependencies may name (a draft's elder siblings).
    """
    if not isinstance(document, dict):
        return []
    given = document.get("userStories")
    given = given if isinstance(given, list) else []
    named = [(n, name, story) for n, story in enumerate(given)
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
        for field, n, other in listed(story):
            path = ("userStories", index, field, n)
            if other == story_id:
                yield Problem(path, "is the story itself", "remove it")
            elif other in places:
                inside.append(other)
            elif other not in known_ids:
                near = spelled.get(other.strip().lower())
                yield Problem(path, f"is {preview(other)}, no such story", _like(near))
        if name := disagrees(story):
            ids = {field: _ids_of(story[field]) for field in (name, OWN)}
            yield Problem(("userStories", index, name), f"is {ids[name]}, but {OWN} is {ids[OWN]}", f"keep only {OWN}")
    yield from _circles(graph, named)


def _ids_of(listed: Iterable[Any]) -> str:
    return escaped(", ".join(str(one)[:64] for one in listed))[:200] or "empty"


def _like(known: str | None) -> str:
    return f"did you mean {preview(known)}?" if known else "use a story's id, or remove it"


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
