"""Read prd.json and drafts of stories; check them by their schema, then by the rules that it cannot express."""

from __future__ import annotations

import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, ValidationError
from referencing import Registry, Resource

from ralphy.documents.criteria import LISTS, unticked
from ralphy.documents.dependencies import with_own_spelling
from ralphy.documents.feature_folder import kind_of
from ralphy.documents.prd_merge import RECORDED
from ralphy.documents.prd_rules import Problem, problems
from ralphy.errors import InvalidInput, NotFound, joined
from ralphy.files.read import read_regular, signature
from ralphy.resources import schema
from ralphy.text.line_numbers import lines_of
from ralphy.text.plain_text import escaped
from ralphy.text.strict_json import MAX_BYTES, decode, parse, preview, too_large

Document = dict[str, Any]

USUAL_BASES = ("main", "master")
MAX_DRAFT_BYTES = 8 * 1024 * 1024
MOST_SHOWN = 10
MOST_ERRORS = 1000
PRD_SCHEMA = ".ralphy/schemas/prd.schema.json"
_SEE_SCHEMA = f"see {PRD_SCHEMA}, which `ralphy init` writes"


def read_prd(path: Path, *, base_branches: Collection[str] = USUAL_BASES, where: str = "") -> Document:
    """The document in a file; `where` is how errors name the file, by default its path.

    Never blocks. Raises NotFound if there is no file, InvalidInput if it is no plain readable file or no valid
    prd.json.
    """
    where = escaped(where or str(path))
    return check_prd(_read(path, where), where, base_branches=base_branches)


def check_prd(data: bytes, where: str, *, base_branches: Collection[str] = USUAL_BASES) -> Document:
    """The document in the bytes of a prd.json, with dependencies as Ralphy spells them.

    Raises InvalidInput with up to ten problems.
    """
    document = parse(data, where)
    if violations := _first_at_each_place([*_misfits_in(data), *problems(document, base_branches)]):
        raise _refusal(violations, data, where)
    return with_own_spelling(document)


@lru_cache(maxsize=4)
def _misfits_in(data: bytes) -> tuple[Problem, ...]:
    """Cached: a command may read a file twice, and 1000 stories take a quarter of a second."""
    return tuple(_misfits(parse(data, ""), "prd"))


def prd_problems(document: Any) -> list[Problem]:
    """What is wrong with the value of a prd.json: by its schema, then by the rules."""
    return _first_at_each_place([*_misfits(document, "prd"), *problems(document, USUAL_BASES)])


def read_stories_draft(data: bytes, where: str, *, known_ids: Collection[str] = ()) -> list[Document]:
    """The stories of an agent's draft, without the fields that only Ralphy writes (passes, status, done, …).

    Dependencies may name stories of the draft and `known_ids`. Raises InvalidInput with up to ten
    problems, worded so that the agent can fix them.
    """
    draft = _planned(parse(data, where, MAX_DRAFT_BYTES))
    stories = draft.get("userStories") if isinstance(draft, dict) else None
    broken_rules = problems({"userStories": stories}, known_ids=known_ids)
    if violations := _first_at_each_place([*_misfits(draft, "stories"), *broken_rules]):
        raise _refusal(violations, data, where)
    checked: list[Document] = with_own_spelling(draft)["userStories"]
    return checked


def _planned(draft: Any) -> Any:
    """The draft without the fields that only Ralphy writes; the paths of all other values stay the same."""
    if not isinstance(draft, dict) or not isinstance(draft.get("userStories"), list):
        return draft
    return {**draft, "userStories": [_planned_story(story) for story in draft["userStories"]]}


def _planned_story(story: Any) -> Any:
    if not isinstance(story, dict):
        return story
    planned = {key: value for key, value in story.items() if key not in RECORDED}
    for name in LISTS:
        if isinstance(planned.get(name), list):
            planned[name] = [unticked(item) for item in planned[name]]
    return planned


def _read(path: Path, where: str) -> bytes:
    data = read_regular(path, MAX_BYTES)
    if data is not None:
        return data
    status = signature(path)
    if status is None:
        hint = "run `ralphy init`, or write PRD.md next to it and run `ralphy loop`"
        raise NotFound("does not exist", where=where, hint=hint)
    if not stat.S_ISREG(status[0]):
        raise InvalidInput(f"is {kind_of(status[0])} but must be a plain file", where=where)
    if status[2] > MAX_BYTES:
        raise too_large(where, MAX_BYTES)
    raise InvalidInput("is not readable", where=where, hint="make it readable: chmod u+r")


def _refusal(violations: Sequence[Problem], data: bytes, where: str) -> InvalidInput:
    """One error with the first ten problems, each with its line."""
    lines = lines_of(decode(data, where), [problem.path for problem in violations])
    errors = [InvalidInput(str(problem), where=f"{where}:{line}", hint=problem.hint)
              for line, problem in zip(lines, violations, strict=True)]  # fmt: skip
    error = joined(errors, MOST_SHOWN)
    error.hint = error.hint or _SEE_SCHEMA
    return error


def _misfits(document: Any, name: str) -> list[Problem]:
    """How the document breaks its schema, the outermost value first."""
    errors = list(islice(_validator(name).iter_errors(document), MOST_ERRORS))
    errors.sort(key=lambda error: len(error.absolute_path))
    return [problem for error in errors for problem in _worded(error)]


def _first_at_each_place(violations: Iterable[Problem]) -> list[Problem]:
    """The first problem of each place: a value of a wrong type breaks other demands, too."""
    at: dict[tuple[str | int, ...], Problem] = {}
    for problem in violations:
        at.setdefault(problem.path, problem)
    return list(at.values())


@cache
def _validator(name: str) -> Draft202012Validator:
    known = [Resource.from_contents(schema(each)) for each in ("prd", "stories")]
    registry: Registry[Any] = Registry().with_resources((str(each.id()), each) for each in known)
    return Draft202012Validator(schema(name), registry=registry)


def _worded(error: ValidationError) -> Iterator[Problem]:
    path = tuple(error.absolute_path)
    if error.validator == "required":
        required: Any = error.validator_value
        there: Any = error.instance
        for name in (name for name in required if name not in there):
            yield Problem((*path, name), "is missing", _instead(name, there))
        return
    node: Any = error.schema
    wording = _WORDINGS.get(str(error.validator))
    expected = wording(error.validator_value) if wording else f"must be {node['$comment']}"
    yield Problem(path, f"is {preview(error.instance)} but {expected}")


def _instead(missing: str, there: Document) -> str:
    others = [name for name in ("stories", "tasks") if name in there] if missing == "userStories" else []
    return f"rename {others[0]} to userStories" if others else ""


_TYPES = {
    "array": "an array",
    "boolean": "true or false",
    "integer": "an integer",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}


def _any_of(types: Sequence[str]) -> str:
    return " or ".join(_TYPES[name] for name in types)


_WORDINGS: dict[str, Callable[[Any], str]] = {
    "type": lambda named: f"must be {_any_of([named] if isinstance(named, str) else named)}",
    "enum": lambda values: f"must be one of {', '.join(map(preview, values))}",
    "minimum": lambda least: f"must be {least} or more",
    "minItems": lambda _: "must not be empty",
}
