"""What must hold of a repository whatever has happened to Ralphy in it; each function names what does not.

The numbers are those of the promises: I1 exactly once, I2 old or new, I3 git is the commit point, I4 nothing is lost,
I7 nobody is left behind, I11 no approval without a person, and that no cheat landed.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ralphy.documents.prd_reader import check_prd
from ralphy.engine.recover import is_unfinished
from ralphy.errors import RalphyError
from tests.engine.building import Project, open_feature

LEFT_ALIVE_S = 5.0
REFUSED = ("BROKEN", "CHEAT")
_REVERTS = re.compile(r"^This reverts commit ([0-9a-f]{40})", re.M)
_STORY = re.compile(r"^Ralphy-Story: \S+/(\S+)$", re.M)


@dataclass(slots=True)
class Known:
    """What the person knows of the world: where the work began, whose files must stay, and what was approved."""

    base: str
    precious: dict[Path, bytes] = field(default_factory=dict)
    approved: int = 0
    prd_is_touched: bool = False
    prd_is_broken: bool = False
    git_state: dict[str, str] = field(default_factory=dict)


def git(project: Project, *words: str) -> str:
    """git's output, or "" when it fails."""
    done = subprocess.run(
        ["git", *words], cwd=project.repo, env=project.env, capture_output=True, encoding="utf-8", check=False,
        errors="replace",
    )  # fmt: skip
    return done.stdout if done.returncode == 0 else ""


def git_state(project: Project) -> dict[str, str]:
    """What of git's state no agent may change: other branches' tips, tags, replacements, hooks, configuration."""
    folder = project.repo / ".git"
    hooks = sorted(path.name for path in (folder / "hooks").glob("*") if path.suffix != ".sample")
    return {
        "main": git(project, "rev-parse", "--verify", "--quiet", "refs/heads/main").strip(),
        "tags": git(project, "for-each-ref", "refs/tags", "refs/replace"),
        "hooks": " ".join(hooks),
        "config": (folder / "config").read_text(encoding="utf-8"),
    }


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
    """What does not hold at any moment at which no Ralphy runs, a kill included.

    What a killed agent has committed stands on the branch until the next start: the ledger is judged without it.
    """
    checks: tuple[Callable[[Project, Known], Iterator[str]], ...] = (_old_or_new, _sound, _nothing_lost, _nobody_left)
    if is_quiet(project):
        checks += (_exactly_once, _only_approved, _no_cheat, _state_of_git)
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
    rows = git(project, "status", "--porcelain", "--untracked-files=all").splitlines()
    yield from (f"dirty: {row}" for row in rows if row[3:] not in own)
    is_staged = any(row[:1] == "A" and row[3:] in own for row in rows)
    if not is_staged and git(project, "write-tree") != git(project, "rev-parse", "HEAD^{tree}"):
        yield "the index is not HEAD's"
    with open_feature(project.repo, project.path, project.env) as workspace:
        if is_unfinished(workspace):
            yield "something is unfinished"
    locks = [path.name for path in (project.repo / ".git").rglob("*.lock") if path.name != "rehearsal.json.lock"]
    yield from (f"{name} is left" for name in locks)


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
    if known.prd_is_touched or not path.exists():
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
        if not path.exists() and not _is_kept(project, content):
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


def _state_of_git(project: Project, known: Known) -> Iterator[str]:
    for name, before in known.git_state.items():
        now = git_state(project)[name]
        if now != before:
            yield f"{name} is {now!r:.300}, was {before!r:.300}"


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


def _is_kept(project: Project, content: bytes) -> bool:
    """Is this content reachable from a ref? An agent's stash takes a person's new files along; it is kept."""
    done = subprocess.run(["git", "hash-object", "--stdin"], input=content, cwd=project.repo, env=project.env,
                          capture_output=True, check=True)  # fmt: skip
    return done.stdout.decode().strip() in git(project, "rev-list", "--objects", "--all")


def ended(project: Project) -> Iterator[dict[str, Any]]:
    """The journal's lines about runs that ended; one that a kill has torn is none."""
    path = project.repo / ".git" / "ralphy" / "journal.jsonl"
    for line in path.read_bytes().splitlines() if path.exists() else []:
        with contextlib.suppress(ValueError):
            entry = json.loads(line)
            if entry["ev"] == "end":
                yield entry


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


def differing(precious: Mapping[Path, bytes]) -> list[str]:
    """The person's files that are no longer what they were."""
    return [path.name for path, content in precious.items() if not path.exists() or path.read_bytes() != content]
