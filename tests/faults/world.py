"""The person's world: what of a repository and its checkout no agent, check or Ralphy may change."""

from __future__ import annotations

import hashlib
import json
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.engine.building import Project

World = dict[str, str]


def git(project: Project, *words: str) -> str:
    """git's output, or "" when it fails."""
    done = subprocess.run(
        ["git", *words], cwd=project.repo, env={**project.env, "GIT_OPTIONAL_LOCKS": "0"}, capture_output=True,
        encoding="utf-8", check=False, errors="replace",
    )  # fmt: skip
    return done.stdout if done.returncode == 0 else ""


def head(project: Project) -> str:
    """The branch that the person stands on; "" if HEAD is detached."""
    return git(project, "symbolic-ref", "--short", "--quiet", "HEAD").strip()


def stands_on_the_branch(project: Project) -> bool:
    return head(project) == project.branch


def world_of(project: Project) -> World:
    """What is the person's alone, as it is now: name -> what it is.

    Where the person stands on the feature's branch, index and files follow the branch: only what differs from it there
    is the person's, and is looked at by itself.
    """
    found = dict(_git_state(project))
    if not stands_on_the_branch(project):
        found["HEAD"] = f"{head(project)} {git(project, 'rev-parse', 'HEAD').strip()}"
        found["index"] = git(project, "ls-files", "--stage")
        found |= _files(project)
    return found


def changed(before: World, now: World) -> Iterator[str]:
    """What is no longer as it was."""
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            yield f"{name} is {now.get(name)!r:.200}, was {before.get(name)!r:.200}"


def _git_state(project: Project) -> Iterator[tuple[str, str]]:
    common = project.repo / ".git"
    for line in git(project, "for-each-ref", "--format=%(refname) %(objectname)").splitlines():
        name, _, oid = line.partition(" ")
        if not name.startswith("refs/ralphy/") and not name.endswith(f"/{project.branch}"):
            yield name, oid
    yield "stash", git(project, "stash", "list", "--format=%H")
    yield "config", (common / "config").read_text(encoding="utf-8")
    for path in sorted((common / "hooks").glob("*")):
        if path.suffix != ".sample":
            yield f"hooks/{path.name}", _print(path)


def _files(project: Project) -> World:
    """Every file of the checkout but those of the feature's folder."""
    return {
        path.relative_to(project.repo).as_posix(): _print(path)
        for top in sorted(project.repo.iterdir())
        if top.name != ".git"
        for path in (top, *sorted(top.rglob("*")))
        if not path.is_dir() and not path.is_relative_to(project.folder)
    }


def _print(path: Path) -> str:
    """Mode and content of a file that may be anything."""
    try:
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode):
            return f"-> {path.readlink()}"
        content = path.read_bytes() if stat.S_ISREG(found.st_mode) else b""
        return f"{found.st_mode:o} {hashlib.sha256(content).hexdigest()[:16]}"
    except OSError as error:
        return str(error)


def carriers(project: Project) -> list[str]:
    """The processes that carry this repository's marker, with what they run."""
    marker = json.dumps(str(project.repo / ".git"))[1:-1].encode()
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                rows = (folder / "environ").read_bytes().split(b"\0")
                if any(row.startswith(b"RALPHY_REPO=") and row.endswith(marker) for row in rows):
                    words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    found.append(f"{folder.name} {words[:100]}")
            except OSError:
                continue
    return found
