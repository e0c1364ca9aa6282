"""The Git folder of a lane, written as plain files: no Git runs for that, and nothing of an earlier one is read.

It borrows the person's objects. It has only those of the person's settings that say how files are written and compared,
never a hook, a remote or a program that lies in the tree.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ralphy.errors import EnvironmentProblem
from ralphy.files.read import read_input
from ralphy.files.tree_walk import children, remove
from ralphy.files.user_folders import config_folder
from ralphy.git.commands import Repository

_MOST = 4 << 20
_COPIED = re.compile(
    r"core\.(autocrlf|eol|safecrlf|filemode|symlinks|ignorecase|precomposeunicode|protecthfs|protectntfs|whitespace"
    r"|checkroundtripencoding|longpaths|commentchar|quotepath)|filter\..+\.(clean|smudge|process|required)"
    r"|user\.(name|email)"
)


@dataclass(frozen=True, slots=True)
class PersonGit:
    """What a lane takes from the person's repository. `objects` are its folders of objects, those of its submodules,
    and those that they borrow from.

    `lfs` is where Git LFS keeps large files; it may not exist. `excludes` and `attributes` are the contents of the
    person's files for all repositories, and for this one.
    """

    settings: tuple[tuple[str, str], ...]
    objects: tuple[Path, ...]
    object_format: str
    excludes: tuple[bytes, bytes]
    attributes: tuple[bytes, bytes]
    shallow: bytes
    lfs: Path

    @property
    def borrowed(self) -> Iterator[tuple[Path, str]]:
        """(a folder of the person's that a lane reads, its place in the lane's Git folder)."""
        for number, path in enumerate(self.objects):
            yield path, f"ralphy/objects-{number}" if number else "ralphy/objects"
        if self.lfs.is_dir():
            yield self.lfs, "ralphy/lfs"  # Git LFS looks beside borrowed objects


def read_person(repository: Repository) -> PersonGit:
    """What lanes of this repository take from it now. EnvironmentProblem for a partial clone."""
    rows = [row.partition("\n") for row in os.fsdecode(repository.run("config", "-z", "--list")).split("\0") if row]
    settings = [(name, value if line else "true") for name, line, value in rows]
    _require_whole(settings, repository)
    common = repository.common_dir
    lfs = (common / dict(settings).get("lfs.storage", "lfs")).resolve()
    folders = [folder / "objects" for folder in _repositories(repository)]
    objects = tuple(dict.fromkeys(at for folder in folders for at in _objects(repository, folder)))
    excludes = _file_of(repository, "excludesFile", "ignore"), _bytes(common / "info" / "exclude")
    attributes = _file_of(repository, "attributesFile", "attributes"), _bytes(common / "info" / "attributes")
    return PersonGit(tuple(_without_tree_programs(settings, repository)), objects, repository.object_format, excludes,
                     attributes, _bytes(common / "shallow"), lfs)  # fmt: skip


def _require_whole(settings: Sequence[tuple[str, str]], repository: Repository) -> None:
    """EnvironmentProblem for a partial clone: no lane has a remote from which to fetch missing objects."""
    named = [value for name, value in settings if name == "extensions.partialclone"]
    named += [name.removeprefix("remote.").removesuffix(".promisor") for name, value in settings
              if name.startswith("remote.") and name.endswith(".promisor")
              and value.lower() in ("true", "yes", "on", "1")]  # fmt: skip
    if named:
        remote = named[-1]
        raise EnvironmentProblem(
            "is a partial clone: lanes cannot fetch the missing objects",
            where=str(repository.root),
            hint=f"make it a full one: git config --unset remote.{remote}.promisor; "
                 f"git config --unset remote.{remote}.partialclonefilter; git config --unset extensions.partialclone; "
                 f"git fetch --refetch {remote}",
        )  # fmt: skip


def _without_tree_programs(rows: Sequence[tuple[str, str]], repository: Repository) -> Iterator[tuple[str, str]]:
    """The settings without filters whose program an agent could change: all of Ralphy's own Git leaves them out."""
    off = {name.rpartition(".")[0] for name in repository.programs_in_tree if name.startswith("filter.")}
    return ((name, value) for name, value in rows if name.rpartition(".")[0] not in off)


def _repositories(repository: Repository) -> Iterator[Path]:
    """The repository's Git folder, and those of the submodules that are initialised in this checkout."""
    common = repository.common_dir
    yield common
    waiting = list(dict.fromkeys((repository.git_dir / "modules", common / "modules")))
    for folder in waiting:
        is_one = (folder / "HEAD").is_file() and (folder / "objects").is_dir()
        if is_one:
            yield folder
        waiting += [folder / entry.name for entry in children(common, folder)
                    if entry.is_folder and (not is_one or entry.name == "modules")]  # fmt: skip


def _objects(repository: Repository, folder: Path) -> Iterator[Path]:
    """A folder of objects and those that it borrows from, directly or not, as Git names them."""
    yield folder.resolve()
    output = repository.run("count-objects", "-v", env={"GIT_OBJECT_DIRECTORY": str(folder)})
    rows = os.fsdecode(output).split("\n")
    yield from (Path(row.removeprefix("alternate: ")).resolve() for row in rows if row.startswith("alternate: "))


def _file_of(repository: Repository, setting: str, usual: str) -> bytes:
    """The content of the file that `core.SETTING` names, or of the one in the usual place."""
    default = (config_folder(repository.env) or Path("/nonexistent")) / "git" / usual
    path = repository.text("config", "--type=path", f"--default={default}", "--get", f"core.{setting}")
    return _bytes(repository.root / path) if path else b""


def _bytes(path: Path) -> bytes:
    """The file's content; empty without a file, and for `/dev/null`, by which people turn one off."""
    return (read_input(path, _MOST) or b"") if path.is_file() else b""


def write_git(folder: Path, person: PersonGit, seen_at: Path | None, refs: Mapping[str, str], head: str) -> None:
    """Write the Git folder, without an index, in the place of an earlier one.

    `seen_at` is its path in a sandbox; None: it is used where it lies. `refs` are the person's ids by full names,
    `head` is the content of HEAD.
    """
    if not remove(folder):
        raise EnvironmentProblem("cannot be removed", where=str(folder))
    for name in ("objects/info", "refs", "info", "ralphy"):
        (folder / name).mkdir(parents=True)
    places = [f"{seen_at}/{at}" if seen_at else str(path) for path, at in person.borrowed if path != person.lfs]
    files: Mapping[str, str | bytes] = {
        "HEAD": f"{head}\n",
        "packed-refs": "".join(f"{oid} {name}\n" for name, oid in sorted(refs.items())),
        "config": _config(person, seen_at or folder),
        "objects/info/alternates": "".join(f"{place}\n" for place in places),
        "info/exclude": b"\n".join(text for text in person.excludes if text),  # the repository's own line wins
        "ralphy/attributes": person.attributes[0],
        "info/attributes": person.attributes[1],
        "shallow": person.shallow,
    }
    for name, data in files.items():
        if data:
            (folder / name).write_bytes(data if isinstance(data, bytes) else os.fsencode(data))


def _config(person: PersonGit, seen_at: Path) -> str:
    is_sha256 = person.object_format == "sha256"
    own = {"core.repositoryformatversion": "1" if is_sha256 else "0", "core.bare": "false",
           **({"extensions.objectformat": "sha256"} if is_sha256 else {}), "gc.auto": "0",
           "core.fsmonitor": "false", "maintenance.auto": "false", "core.logallrefupdates": "true",
           "core.attributesfile": str(seen_at / "ralphy" / "attributes")}  # fmt: skip
    rows = {**{name: value for name, value in person.settings if _COPIED.fullmatch(name)}, **own}
    return "".join(_row(name, value) for name, value in rows.items())


def _row(name: str, value: str) -> str:
    section, _, rest = name.partition(".")
    inner, _, key = rest.rpartition(".")
    head = f'{section} "{_escaped(inner)}"' if inner else section
    quoted = _escaped(value).replace("\n", "\\n").replace("\t", "\\t").replace("\b", "\\b")
    return f'[{head}]\n\t{key} = "{quoted}"\n'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
