"""The feature folder: its paths, the digests of its artifacts, and whether a marker in it is valid."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import stat
import time
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import count
from pathlib import Path

from ralphy.errors import InvalidInput, NotFound
from ralphy.files.read import names_in, open_regular, read_regular, signature
from ralphy.pipeline.model import Artifact, Marker
from ralphy.pipeline.steps.table import documents
from ralphy.text.nearest import nearest

NAME = re.compile(r"^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$")
_MOST_OF_A_NAME = 60  # of a proposed one: there is room for a number
MARKERS = ("APPROVED", "REJECTED", "STOP")
# Files that Ralphy writes for people and never reads: a change of one wakes nothing up.
VIEWS = ("TASKS.md", "REPORT.md", "REPORT.html")
NOT_COMMITTED = (*VIEWS, *MARKERS)
# The folder's .gitignore: the views, the markers, and what runs leave in `.ralphy/`.
_IGNORED = (
    *(f"/{name}" for name in NOT_COMMITTED),
    "/.ralphy/*",
    "!/.ralphy/config.yaml",
    "!/.ralphy/prompts/",
    "/.*.tmp-*",
)
IGNORE_TEXT = "\n".join((*_IGNORED, ""))
_DOCUMENTS = ("PRD.md", "SPEC.md", "prd.json")
# Files that Ralphy reads or writes in the folder, beside the artifacts and a document per story.
_FILES = ("prd.json", "progress.txt", "TASKS.md", ".gitignore", ".gitattributes")
_FOLDERS = ("stories", ".ralphy")
_MARKER_BYTES = 64 * 1024
_NEARLY = 0.8  # how alike a name is to a marker's: APROVED and APPROVED.txt are, APPROVALS is not


def artifact_names() -> tuple[str, ...]:
    """The documents that decisions depend on."""
    return ("PRD.md", *documents(), "QUESTIONS.md")


@dataclass(frozen=True, slots=True)
class Feature:
    """A folder of artifacts; `path` is relative to the repository's root, with slashes."""

    name: str
    folder: Path
    path: str

    @property
    def private(self) -> Path:
        """`.ralphy/` in the folder: streams, outboxes, set-aside files; ignored by git."""
        return self.folder / ".ralphy"

    def file(self, name: str) -> Path:
        return self.folder / name

    def in_repository(self, name: str) -> str:
        return f"{self.path}/{name}"

    @property
    def typed(self) -> str:
        """The folder as a shell takes it: relative to the current folder if it is below that, else absolute."""
        with suppress(OSError):  # the current folder can be deleted
            here = Path.cwd()
            if self.folder.is_relative_to(here):
                return shlex.quote(str(self.folder.relative_to(here)))
        return shlex.quote(str(self.folder))

    def story_document(self, story_id: str) -> str:
        return f"stories/{story_id}.md"


def find(root: Path, features_dir: str, wanted: str, cwd: Path) -> Feature:
    """The feature called `wanted`, or at that path.

    Raises NotFound with the known names, InvalidInput for an invalid name.
    """
    folder = root / features_dir / wanted
    if NAME.fullmatch(wanted) and (folder.is_dir() or not _is_folder(cwd / wanted)):
        if not folder.is_dir():
            raise NotFound(f"there is no feature {wanted!r} in {features_dir}/", hint=_hint(root, features_dir, wanted))
        return _feature(root, folder)
    if wanted in ignored(root, features_dir):
        raise misnamed(root / features_dir / wanted)
    if not _is_folder(cwd / wanted):
        raise NotFound(f"there is no feature {wanted[:80]!r}", hint=_hint(root, features_dir, wanted))
    return _feature(root, (cwd / wanted).resolve())


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # no name that a file could have
        return False


def _hint(root: Path, features_dir: str, wanted: str) -> str:
    names = [feature.name for feature in listed(root, features_dir)]
    if near := nearest(wanted, names):
        return f"did you mean {near}?"
    if names:
        return f"there are: {', '.join(names[:10])}"
    return f'write {features_dir}/<name>/PRD.md, or: ralphy start "what you want built"'


def _feature(root: Path, folder: Path) -> Feature:
    real, top = folder.resolve(), root.resolve()
    if not real.is_relative_to(top):
        raise InvalidInput(f"{folder} is outside the repository", hint="move the feature into it")
    if ".git" in real.relative_to(top).parts:
        raise InvalidInput(f"{folder} is inside the Git folder", hint="move the feature out of it")
    if real == top:
        raise InvalidInput("the repository's root cannot be a feature folder",
                           hint="move prd.json into its own folder, such as docs/features/<name>/")  # fmt: skip
    if not NAME.fullmatch(folder.name):
        raise misnamed(folder)
    return Feature(folder.name, real, real.relative_to(top).as_posix())


def listed(root: Path, features_dir: str) -> Iterator[Feature]:
    """Every feature of the repository, by name: each folder with a PRD.md, SPEC.md or prd.json."""
    for name in _folders(root / features_dir):
        if NAME.fullmatch(name) and _holds_documents(root / features_dir / name):
            yield _feature(root, root / features_dir / name)


def ignored(root: Path, features_dir: str) -> list[str]:
    """Folders with a feature's documents whose names are invalid; a . or _ at the beginning means to leave one out."""
    folders = (name for name in _folders(root / features_dir) if not NAME.fullmatch(name) and name[0] not in "._")
    return [name for name in folders if _holds_documents(root / features_dir / name)]


def misnamed(folder: Path) -> InvalidInput:
    """The error for a folder with an invalid name, with the command that renames it."""
    plain = unicodedata.normalize("NFKD", folder.name).encode("ascii", "ignore").decode()
    name = re.sub(r"[^a-zA-Z0-9_]+", "-", plain).strip("-_")[:_MOST_OF_A_NAME] or "feature"
    free = next(one for n in count(1) if not (folder.parent / (one := f"{name}-{n}" if n > 1 else name)).exists())
    old, new = (os.path.relpath(path) for path in (folder, folder.parent / free))
    return InvalidInput(f"{folder.name!r} is not a feature name (letters, digits, - and _, at most 64)",
                        hint=shlex.join(["mv", old, new]))  # fmt: skip


def _folders(of: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(of) if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _holds_documents(folder: Path) -> bool:
    return any((folder / file).exists() for file in _DOCUMENTS)


def artifact_digest(data: bytes) -> str:
    """The sha256 of an artifact's bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def read_artifact(path: Path) -> Artifact | None:
    """Digest and ctime of a regular file that is not blank; None for anything else."""
    status, data = signature(path), read_regular(path)
    return Artifact(artifact_digest(data), status[4]) if status and data and data.strip() else None


def obstructions(feature: Feature) -> tuple[str, ...]:
    """A sentence for each path of a document or folder of the feature that holds something else."""
    documents = [feature.file(name) for name in (*artifact_names(), *_FILES)]
    documents += [feature.file(f"stories/{name}") for name in names_in(feature.file("stories")) if name.endswith(".md")]
    places = [(path, stat.S_ISREG, "a plain file") for path in documents]
    places += [(feature.file(name), stat.S_ISDIR, "a folder") for name in _FOLDERS]
    return tuple(
        f"{feature.in_repository(path.relative_to(feature.folder).as_posix())} "
        f"is {kind_of(status[0])} but must be {wanted}"
        for path, is_right, wanted in places
        if (status := signature(path)) and not is_right(status[0])
    )


def kind_of(mode: int) -> str:
    """What a mode of `lstat` stands for, in words."""
    return _KINDS.get(stat.S_IFMT(mode), "a device or a socket")


_KINDS = {
    stat.S_IFREG: "a plain file",
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a pipe",
}


def read_marker(path: Path) -> Marker | None:
    """The marker at a path, checked without regard to its gate; None if there is none.

    The file that is checked is the one that is read, even if it is replaced meanwhile.
    """
    try:
        status, folder = path.lstat(), path.parent.stat()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return Marker(status.st_ctime_ns, "", _why_invalid(status, folder))
    try:
        file = open_regular(path, os.O_NOFOLLOW)
    except OSError as error:
        return Marker(status.st_ctime_ns, "", f"cannot be read: {error.strerror}")
    with file:
        opened = os.fstat(file.fileno())
        invalid = _why_invalid(opened, folder)
        text = "" if invalid else file.read(_MARKER_BYTES).decode("utf-8", "replace")
    return Marker(opened.st_ctime_ns, text, invalid)


def misspelt_markers(feature: Feature) -> Iterator[tuple[str, str]]:
    """(name, the marker that it resembles) of each file of the folder whose name is nearly a marker's.

    Where upper and lower case are the same to a file system, `approved` is APPROVED itself.
    """
    for name in sorted(names_in(feature.folder)):
        meant = next(iter(get_close_matches(name.upper(), MARKERS, 1, _NEARLY)), "")
        if meant and name not in MARKERS and signature(feature.file(name)) != signature(feature.file(meant)):
            yield name, meant


def _why_invalid(status: os.stat_result, folder: os.stat_result) -> str:
    allowed = {os.getuid(), folder.st_uid}
    faults = (
        (stat.S_ISLNK(status.st_mode), "is a symbolic link"),
        (stat.S_ISDIR(status.st_mode), "is a directory"),
        (not stat.S_ISREG(status.st_mode), "is not a regular file"),
        (status.st_nlink > 1, "has more than one link"),
        (status.st_uid not in allowed, f"belongs to user {status.st_uid}"),
        (status.st_ctime > time.time() + 5, "has a time in the future"),
        (status.st_size > _MARKER_BYTES, "is too large"),
        # anyone who can write to the folder can give an old file of somebody else this name
        (bool(folder.st_mode & stat.S_IWOTH), "is in a world-writable folder (chmod o-w)"),
    )
    return next((why for is_so, why in faults if is_so), "")
