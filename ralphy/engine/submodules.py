"""Submodules as values: the commit that is recorded, and the files that are there. No Git is run in one.

Git would read the configuration that a submodule's `.git` leads to, and an agent can lead it anywhere. So the files are
compared with what they were when the run began; what changed in one refuses the attempt, and holds up the next start
until it is as it was (`git submodule update --force`) or another commit is recorded.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import orjson

from ralphy.engine.workspace import Workspace
from ralphy.errors import EnvironmentProblem
from ralphy.files.atomic import read_regular, replace_file, signature
from ralphy.files.tree_walk import remove
from ralphy.git.objects import Entry
from ralphy.git.special_files import run_wary

GITLINK = "160000"
_NOTE = "submodules.json"
_MOST_BYTES = 256 * 1024 * 1024


def note(w: Workspace) -> None:
    """Remember, on the disk too, what the submodules hold before a run."""
    if not w.checkout.modules:
        return
    found = {path: [oid, _digest(w, path)] for path, oid in w.checkout.modules.items()}
    if found != w.checkout.modules_noted:
        w.checkout.modules_noted = found
        replace_file(w.repository.checkout_dir / _NOTE, orjson.dumps(found), durable=False)


def changed(w: Workspace, tree: str) -> list[str]:
    """The submodules that are not what they were, as far as `tree` records the commits that it did."""
    noted = w.checkout.modules_noted or _noted(w)
    still = {path: digest for path, (oid, digest) in noted.items() if w.objects.at(tree, path) == Entry(GITLINK, oid)}
    return [path for path, digest in still.items() if _digest(w, path) != digest]


def _noted(w: Workspace) -> Mapping[str, list[str]]:
    data = read_regular(w.repository.checkout_dir / _NOTE)
    try:
        found = orjson.loads(data) if data else {}
    except orjson.JSONDecodeError:
        return {}
    return {path: row for path, row in found.items() if isinstance(row, list) and len(row) == 2}


def _digest(w: Workspace, module: str) -> str:
    """What stands for all files of a submodule that it does not ignore."""
    said = hashlib.sha256()
    for path in sorted(_files(w, w.repository.root / module)):
        said.update(os.fsencode(f"{os.path.relpath(path, w.repository.root)}\0"))
        said.update(_content(w, path))
    return said.hexdigest()


def _files(w: Workspace, folder: Path) -> Iterator[str]:
    """The files below a folder, those of repositories in it too, with the `.git` that makes them
    one; a file or link in its place is one itself."""
    waiting = [folder]
    while waiting:
        at = waiting.pop()
        found = signature(at)
        if found is None or not stat.S_ISDIR(found[0]):
            yield str(at)
            continue
        if at != folder and os.path.lexists(at / ".git"):
            yield str(at / ".git")
        for name in _listed(w, at):
            path = at / name
            if name.endswith("/") and path != at:
                waiting.append(path)
            else:
                yield str(path)


def _listed(w: Workspace, folder: Path) -> list[str]:
    """What a folder holds and does not ignore, asked of a Git that knows no repository there."""
    own = w.repository.checkout_dir / "no-repository"
    remove(own)
    for name in ("objects", "refs"):
        (own / name).mkdir(parents=True)
    (own / "HEAD").write_text("ref: refs/heads/none\n", encoding="utf-8")
    env = {**w.repository.env, "GIT_DIR": str(own), "GIT_WORK_TREE": str(folder)}
    outside = replace(w.repository, root=folder, env=env)
    try:
        out = run_wary(outside, "ls-files", "--others", "--exclude-standard", "-z")
    except EnvironmentProblem:  # what cannot be listed is not as it was
        return [f"unreadable-{os.urandom(4).hex()}"]
    finally:
        remove(own)
    return [name for name in out.decode("utf-8", "surrogateescape").split("\0") if name]


def _content(w: Workspace, path: str) -> bytes:
    """A file's kind and digest; what did not change is not read again."""
    seen = signature(path)
    known = w.checkout.module_files.get(path)
    if known and known[0] == seen:
        return known[1]
    if seen is None:
        said = b"-"
    elif stat.S_ISLNK(seen[0]):
        said = b"l" + os.fsencode(Path(path).readlink())
    else:
        data = read_regular(Path(path), _MOST_BYTES)
        said = b"%o" % (seen[0] & 0o170100) + hashlib.sha256(data or b"").digest()
    w.checkout.module_files[path] = (seen, said)
    return said
