"""What must hold of a repository whatever has happened to Ralphy in it; each function names what does not.

The numbers are those of the promises: I1 exactly once, I2 old or new, I3 git is the commit point, I4 nothing is lost,
I7 nobody is left behind, I11 no approval without a person, that no cheat landed, and that the checkout is the person's:
HEAD, index, stash, files, hooks, configuration and all refs but the feature's own are as the person left them.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ralphy.documents.prd_reader import check_prd
from ralphy.engine.runs.recover import is_unfinished
from ralphy.errors import RalphyError
from tests.engine.building import Project, open_feature, strayed_documents
from tests.faults.world import World, carriers, changed, git, stands_on_the_branch, world_of

LEFT_ALIVE_S = 60.0
REFUSED = ("BROKEN", "CHEAT")
_REVERTS = re.compile(r"^This reverts commit ([0-9a-f]{40})", re.M)
_STORY = re.compile(r"^Ralphy-Story: \S+/(\S+)$", re.M)


@dataclass(slots=True)
class Known:
    """What the person knows of the world: where the work began, whose files must stay, what was approved, and how the
    checkout and the repository's state were left."""

    base: str
    precious: dict[Path, bytes] = field(default_factory=dict)
    approved: int = 0
    prd_is_broken: bool = False
    world: World = field(default_factory=dict)


def landings(project: Project, base: str) -> dict[str, list[str]]:
    """Story -> its commits on the branch that are not reverted."""
    rows = git(project, "log", "--reverse", "--format=%H%x00%B%x01", f"{base}..refs/heads/{project.branch}").split("\1")
    standing: dict[str, str] = {}
    undone: dict[str, tuple[str, str]] = {}
    for row in rows:
        commit, _, message = row.strip().partition("\0")
        reverted = _REVERTS.search(message)
        if reverted and reverted[1] in standing:
            undone[commit] = (reverted[1], standing.pop(reverted[1]))
        elif reverted and reverted[1] in undone:
            again, story = undone.pop(reverted[1])
            standing[again] = story
        elif not reverted and (found := _STORY.search(message)):
            standing[commit] = found[1]
    by_story: dict[str, list[str]] = {}
    for commit, story in standing.items():
        by_story.setdefault(story, []).append(commit)
    return by_story


def committed(project: Project) -> dict[str, Any] | None:
    """prd.json at the tip of the branch; None without a branch."""
    text = git(project, "show", f"refs/heads/{project.branch}:{project.path}/prd.json")
    return check_prd(text.encode(), "the committed prd.json") if text else None


def broken(project: Project, known: Known) -> list[str]:
    """What does not hold at any moment at which no Ralphy runs, a kill included."""
    checks: tuple[Callable[[Project, Known], Iterator[str]], ...] = (
        _old_or_new, _sound, _nothing_lost, _nobody_left, _untouched, _exactly_once, _only_approved, _no_cheat,
    )  # fmt: skip
    return [f"{check.__name__.strip('_')}: {why}" for check in checks for why in check(project, known)]


def broken_at_rest(project: Project, known: Known) -> list[str]:
    """What does not hold at the end of a feature: clean, everything landed, and at the remote."""
    found = broken(project, known)
    found += [f"clean: {why}" for why in _unclean(project, known)]
    on_disk = (project.folder / "prd.json").read_bytes()
    for story in check_prd(on_disk, "prd.json")["userStories"]:
        if story["status"] not in ("completed", "failed", "blocked", "pending"):
            found.append(f"at rest: {story['id']} is {story['status']}")
    leftovers = [path.name for path in project.folder.rglob("*") if ".tmp" in path.name]
    return found + [f"at rest: {name} is left over" for name in leftovers]


def is_quiet(project: Project) -> bool:
    """Nothing is half done: what the person does now is the person's."""
    try:
        with open_feature(project.repo, project.path, project.env) as workspace:
            return not is_unfinished(workspace)
    except RalphyError:
        return False


def _unclean(project: Project, known: Known) -> Iterator[str]:
    """What is dirty but for the person's own files, what is half done, and what is still locked."""
    own = {path.relative_to(project.repo).as_posix() for path in known.precious}
    if stands_on_the_branch(project):
        rows = git(project, "status", "--porcelain", "--untracked-files=all").splitlines()
        yield from (f"dirty: {row}" for row in rows if row[3:] not in own)
    yield from (f"{name} is not the branch's" for name in differing_documents(project))
    with open_feature(project.repo, project.path, project.env) as workspace:
        if is_unfinished(workspace):
            yield "something is unfinished"
    yield from (f"{path.name} is left" for path in (project.repo / ".git").rglob("*.lock"))


def differing_documents(project: Project) -> list[str]:
    """The documents that are not in the checkout as the feature's branch has them.

    Where another commit that is checked out tracks them itself, they are as Git has laid them out.
    """
    if not git(project, "rev-parse", "--verify", "--quiet", f"refs/heads/{project.branch}"):
        return []
    if not stands_on_the_branch(project) and git(project, "ls-tree", "HEAD", "--", project.path):
        return []
    return strayed_documents(project)


def _untouched(project: Project, known: Known) -> Iterator[str]:
    """The checkout and the repository's state are as the person left them."""
    yield from changed(known.world, world_of(project)) if known.world else ()


def _exactly_once(project: Project, known: Known) -> Iterator[str]:
    found = landings(project, known.base)
    prd = committed(project) or {"userStories": []}
    for story in prd["userStories"]:
        times = len(found.get(story["id"], []))
        if story["status"] == "completed" and times != 1:
            yield f"{story['id']} is completed and has {times} commits"
        if story["status"] != "completed" and times:
            yield f"{story['id']} is {story['status']} and has {times} commits"


def _old_or_new(project: Project, known: Known) -> Iterator[str]:
    path = project.folder / "prd.json"
    if known.prd_is_broken or not path.exists():
        return
    try:
        check_prd(path.read_bytes(), "prd.json")
    except (RalphyError, OSError) as error:
        yield str(error)


def _sound(project: Project, known: Known) -> Iterator[str]:
    done = subprocess.run(
        ["git", "fsck", "--strict", "--no-dangling", "--no-progress"], cwd=project.repo, env=project.env,
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    said = [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("notice:")]
    if done.returncode or said:
        yield f"git fsck: {said[:5]}"


def _nothing_lost(project: Project, known: Known) -> Iterator[str]:
    for path, content in known.precious.items():
        if not path.exists():
            yield f"{path.name} of the person is gone"
        elif path.exists() and path.read_bytes() != content:
            yield f"{path.name} of the person was changed"
    refs = git(project, "for-each-ref", "--format=%(objectname)", "refs/ralphy").split()
    for end in ended(project):
        if end.get("tree") and end["tree"] not in refs and not git(project, "cat-file", "-t", end["tree"]):
            yield f"the kept attempt of {end['run']} is gone"


def _nobody_left(project: Project, known: Known) -> Iterator[str]:
    end = time.monotonic() + LEFT_ALIVE_S
    while alive := carriers(project):
        if time.monotonic() > end:
            yield f"still alive: {alive}"
            return
        time.sleep(0.02)


def _only_approved(project: Project, known: Known) -> Iterator[str]:
    """No gate was passed without the person's word."""
    prd = committed(project) or {"workflow": {}}
    said = [row for row in prd.get("workflow", {}).get("approvals", []) if row.get("by") != "auto"]
    approved = [row for row in said if row.get("verdict") == "approved"]
    if len(approved) > known.approved:
        yield f"{len(approved)} approvals and {known.approved} of a person: {approved}"


def _no_cheat(project: Project, known: Known) -> Iterator[str]:
    """Nothing that an agent must not get through stands in a commit of a story."""
    for story, commits in landings(project, known.base).items():
        for commit in commits:
            changed = git(project, "diff", f"{commit}^", commit, "--", "src", "nested", "check.py", ".ralphy")
            added = [line for line in changed.splitlines() if line.startswith("+")]
            if any(word in line for line in added for word in REFUSED):
                yield f"{commit[:10]} of {story} holds what was to be refused: {added[:5]}"
            modes = git(project, "diff-tree", "-r", f"{commit}^", commit)
            if re.search(r"^:\d+ (120000|160000)", modes, re.M):
                yield f"{commit[:10]} of {story} holds a link or a nested repository"


def ended(project: Project) -> Iterator[dict[str, Any]]:
    """The journal's lines about runs that ended; one that a kill has torn is none."""
    path = project.repo / ".git" / "ralphy" / "journal.jsonl"
    for line in path.read_bytes().splitlines() if path.exists() else []:
        with contextlib.suppress(ValueError):
            entry = json.loads(line)
            if entry["ev"] == "end":
                yield entry
