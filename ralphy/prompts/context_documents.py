"""The documents that a story's `context` names (`parent_spec`, `parent_brief`), read only inside the repository.

A reference is a path with or without `#section`, relative to the feature's folder or else to the repository's root. A
document that cannot be read is a problem in words, and no error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from ralphy.errors import InvalidInput
from ralphy.files.read import read_input
from ralphy.text.strict_json import preview

FIELDS = ("parent_spec", "parent_brief")
MOST_BYTES = 4 * 1024 * 1024
_OWN_SPEC = "SPEC.md"


@dataclass(frozen=True, slots=True)
class Reference:
    """The `path` and `section` ("" for the whole document) that `field` of a story's context names."""

    field: str
    path: str
    section: str

    @property
    def is_own_spec(self) -> bool:
        """Is it the SPEC.md of the story's own feature?"""
        return PurePosixPath(self.path) == PurePosixPath(_OWN_SPEC)

    def __str__(self) -> str:
        return f"context.{self.field} names {preview(self.path, 200)}"


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The text of a document; `problem` says why there is none."""

    text: str = ""
    problem: str = ""


def references(story: Mapping[str, Any]) -> Iterator[Reference]:
    """The references of a story's context, field by field."""
    context = story.get("context")
    for field in FIELDS:
        named = context.get(field) if isinstance(context, Mapping) else None
        if isinstance(named, str) and named.strip():
            path, _, section = named.strip().partition("#")
            yield Reference(field, path.strip() or _OWN_SPEC, section.strip())


def read_document(reference: Reference, folder: Path, root: Path) -> DocumentText:
    """The text of the whole document, a regular file of at most 4 MB inside the repository."""
    try:
        place = _place(reference, folder, root)
        inside = place.relative_to(root.resolve())
        if ".git" in inside.parts:
            return DocumentText(problem=f"{reference}, which is Git's own")
        data = read_input(place, MOST_BYTES)
    except InvalidInput as error:
        return DocumentText(problem=f"{reference}, which {error.what}")
    except (OSError, ValueError, RuntimeError):  # outside, a name that no file can have, or links in a circle
        return DocumentText(problem=f"{reference}, which is not inside the repository")
    if data is None:
        return DocumentText(problem=f"{reference}, which does not exist")
    return DocumentText(data.decode("utf-8", "replace"))


def _place(reference: Reference, folder: Path, root: Path) -> Path:
    """The document's path, with links resolved: in the feature's folder if it exists there, else below the root."""
    near = folder / reference.path
    return near.resolve() if near.exists() else (root / reference.path).resolve()


def unreadable(story: Mapping[str, Any], folder: Path, root: Path) -> Iterator[tuple[Reference, str]]:
    """(reference, problem) of the documents that cannot be read now; a SPEC.md that is not written yet is none."""
    for reference in references(story):
        is_to_come = reference.is_own_spec and (folder / "PRD.md").exists()
        problem = read_document(reference, folder, root).problem
        if problem and not is_to_come:
            yield reference, problem
