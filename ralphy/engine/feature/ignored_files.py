"""Which files of a feature's folder Git ignores, by the rules of the repository and of the person."""

from __future__ import annotations

import os
from tempfile import NamedTemporaryFile

from ralphy.engine.feature.excluded_folder import exclude_file, excluded_line
from ralphy.engine.workspace.workspace import Workspace
from ralphy.files.read import read_regular
from ralphy.files.tree_walk import walk


def files_not_ignored(w: Workspace) -> set[str]:
    """The files of the folder that no .gitignore names; Ralphy's own line in info/exclude does not count."""
    lines = (read_regular(exclude_file(w.repository)) or b"").splitlines()
    with NamedTemporaryFile(prefix="ralphy-exclude-") as written:  # in the repository nothing is written for a look
        written.write(b"\n".join([line for line in lines if line != excluded_line(f"{w.feature.path}/")] + [b""]))
        written.flush()
        rules = [] if _has_pipe(w) else ["--exclude-per-directory=.gitignore"]
        rules.append(f"--exclude-from={written.name}")
        rules += [f"--exclude-from={w.checkout.ignore_file}"] if w.checkout.ignore_file else []
        nothing = w.repository.checkout_dir / "index-of-nothing"  # what the person's index tracks is new here, too
        where = f":(top,literal){w.feature.path}"
        rows = w.repository.run("ls-files", "--others", "-z", *rules, "--", where, index=nothing)
    prefix = f"{w.feature.path}/"
    return {path.removeprefix(prefix) for path in os.fsdecode(rows).split("\0") if path.startswith(prefix)}


def _has_pipe(w: Workspace) -> bool:
    """Is a .gitignore on the way to the folder, or in it, a pipe or a device? Git would wait for it forever."""
    folders = [w.feature.folder, *w.feature.folder.parents]
    above = [folder / ".gitignore" for folder in folders[: folders.index(w.repository.root) + 1]]
    below = [w.feature.folder / one.path for one in walk(w.feature.folder) if one.name == ".gitignore"]
    return any(path.is_fifo() or path.is_char_device() for path in (*above, *below))
