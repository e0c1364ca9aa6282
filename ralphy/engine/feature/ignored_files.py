"""Which files of a feature's folder Git ignores, by the rules of the repository and of the person."""

from __future__ import annotations

import os
from collections.abc import Mapping
from tempfile import NamedTemporaryFile

from ralphy.engine.feature.document_record import Signature, is_old
from ralphy.engine.feature.excluded_folder import exclude_file, excluded_line
from ralphy.engine.workspace.workspace import Workspace
from ralphy.files.read import read_regular, signature
from ralphy.files.tree_walk import walk
from ralphy.git import commands as git


def files_not_ignored(w: Workspace, new: set[str]) -> frozenset[str]:
    """The files of the folder that Git does not ignore. `new` are those that it has and no commit has.

    Git is asked again when there are other files, or something changed that it goes by.
    """
    rules = _rules(w)
    asked = (w.feature.path, frozenset(new), frozenset(rules.items()))
    known, files = w.checkout.not_ignored
    if known != asked:
        files = frozenset(_not_ignored(w, rules))
        if all(is_old(seen) for seen in rules.values() if seen):
            w.checkout.not_ignored = asked, files
    return files


def _not_ignored(w: Workspace, rules: Mapping[str, Signature]) -> set[str]:
    """The files of the folder that no .gitignore names; Ralphy's own line in info/exclude does not count."""
    lines = (read_regular(exclude_file(w.repository)) or b"").splitlines()
    with NamedTemporaryFile(prefix="ralphy-exclude-") as written:  # in the repository nothing is written for a look
        written.write(b"\n".join([line for line in lines if line != excluded_line(f"{w.feature.path}/")] + [b""]))
        written.flush()
        own = ["--exclude-per-directory=.gitignore"] if _are_plain(rules) else []
        own.append(f"--exclude-from={written.name}")
        own += [f"--exclude-from={w.checkout.ignore_file}"] if w.checkout.ignore_file else []
        nothing = w.repository.checkout_dir / "index-of-nothing"  # what the person's index tracks is new here, too
        where = f":(top,literal){w.feature.path}"
        rows = w.repository.run("ls-files", "--others", "-z", *own, "--", where, index=nothing)
    prefix = f"{w.feature.path}/"
    return {path.removeprefix(prefix) for path in os.fsdecode(rows).split("\0") if path.startswith(prefix)}


def _rules(w: Workspace) -> dict[str, Signature]:
    """What decides which files Git ignores: the files with rules, and folders, which may be repositories."""
    folders = [w.feature.folder, *w.feature.folder.parents]
    above = [folder / ".gitignore" for folder in folders[: folders.index(w.repository.root) + 1]]
    own = [exclude_file(w.repository), *([w.checkout.ignore_file] if w.checkout.ignore_file else [])]
    below = (w.feature.folder / one.path for one in walk(w.feature.folder) if one.is_folder or one.name == ".gitignore")
    return {str(path): signature(path) or () for path in (*own, *above, *below)}


def _are_plain(rules: Mapping[str, Signature]) -> bool:
    """Is every .gitignore on the way to the folder, and in it, a file? Git would wait for ever for a pipe."""
    modes = [seen[0] for path, seen in rules.items() if seen and path.endswith("/.gitignore")]
    return not any(map(git.is_waited_for, modes))
