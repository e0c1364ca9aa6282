"""The simulated person of a chaotic night: reads exit codes, says yes, answers, works in the checkout at any moment."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from ralphy.errors import ExitCode
from tests.engine.building import Project
from tests.faults.invariants import Known, differing_documents, is_quiet, landings
from tests.faults.strikes import make_room
from tests.faults.world import git, head

COME_BACK_S = 1.0
Deed = Callable[[Project, Known, random.Random], bool]


def approve(project: Project, known: Known) -> None:
    known.approved += 1
    project.approve()


def answer(project: Project) -> bool:
    """Write behind every open `Answer:`; False if there is none."""
    path = project.folder / "QUESTIONS.md"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    said = "\n".join(f"{line} Blue." if line.strip() == "Answer:" else line for line in text.split("\n"))
    path.write_text(said, encoding="utf-8") if said != text else None
    return said != text


def notes_in_prd(project: Project, known: Known, chance: random.Random) -> bool:
    """A valid edit of the plan."""
    path = project.folder / "prd.json"
    if not path.exists() or not is_quiet(project):
        return False
    prd = json.loads(path.read_text(encoding="utf-8"))
    chance.choice(prd["userStories"])["notes"] = f"A person's note {chance.randint(0, 999)}"
    path.write_text(json.dumps(prd, indent=2), encoding="utf-8")
    return True


def breaks_prd(project: Project, known: Known, chance: random.Random) -> bool:
    """An editor that saved half of the file."""
    path = project.folder / "prd.json"
    if not path.exists() or not git(project, "cat-file", "-t", f"{project.branch}:{project.path}/prd.json"):
        return False
    known.prd_is_broken = True
    path.write_bytes(path.read_bytes()[: chance.randint(0, 200)])
    return True


def edits_code(project: Project, known: Known, chance: random.Random) -> bool:
    """Uncommitted work: a file that Git knows, and a new one, perhaps staged."""
    base, mine = project.repo / "src" / "base.py", project.repo / "src" / "mine.py"
    for path in (base, mine):
        path.write_bytes(f"MINE = {chance.random()}\n".encode())
        known.precious[path] = path.read_bytes()
    if chance.random() < 0.5:
        git(project, "add", "src/mine.py")
    return True


def commits(project: Project, known: Known, chance: random.Random) -> bool:
    """A commit on whatever is checked out, with all uncommitted work."""
    (project.repo / "src" / f"person_{chance.randint(0, 999)}.py").write_text("PERSON = 1\n", encoding="utf-8")
    done = _try(project, "add", "src") and _try(project, "commit", "-q", "-m", f"feat: by hand {chance.random()}")
    if done:
        _forget(project, known)
    return done


def stashes(project: Project, known: Known, chance: random.Random) -> bool:
    """Takes back what was stashed, or stashes what Git knows and is changed."""
    if git(project, "stash", "list") and chance.random() < 0.5:
        return _try(project, "stash", "pop", "-q", "--index") or _try(project, "stash", "drop", "-q")
    if not _try(project, "stash", "push", "-q", "--", "src"):
        return False
    _forget(project, known)
    return True


def switches(project: Project, known: Known, chance: random.Random) -> bool:
    """To the feature's branch, to main, or to a new branch; Git may refuse for the person's work alone."""
    to = chance.choice((project.branch, project.branch, "main", "main", "topic"))
    words = ("-c", f"topic-{chance.randint(0, 10**6)}") if to == "topic" else (to,)
    if to != "topic" and not git(project, "rev-parse", "--verify", "--quiet", f"refs/heads/{to}"):
        return False
    return _switch(project, *words)


def _switch(project: Project, *words: str) -> bool:
    is_as_laid_out = not differing_documents(project)
    done = _run(project, "switch", "-q", *words)
    assert not (done.returncode and is_as_laid_out and project.path in done.stderr), f"no switch: {done.stderr}"
    return done.returncode == 0


def pulls(project: Project, known: Known, chance: random.Random) -> bool:
    """Others' work arrives on main: fetched, or pulled with a rebase of the person's own commits."""
    remote = project.repo.parent / "remote.git"
    elsewhere = ("-C", str(remote))
    blob = git(project, *elsewhere, "hash-object", "-w", "-t", "blob", str(project.repo / "check.py")).strip()
    rows = git(project, *elsewhere, "ls-tree", "main") + f"100644 blob {blob}\tothers_{chance.randint(0, 10**6)}.py\n"
    tree = subprocess.run(["git", "-C", str(remote), "mktree"], input=rows, env=project.env, capture_output=True,
                          encoding="utf-8", check=False).stdout.strip()  # fmt: skip
    made = git(project, *elsewhere, "commit-tree", tree, "-p", "main", "-m", "feat: by others").strip() if tree else ""
    if not made or not _try(project, *elsewhere, "update-ref", "refs/heads/main", made):
        return False
    if head(project) != "main":
        return _try(project, "fetch", "-q", "origin")
    if _try(project, "pull", "-q", "--rebase", "--autostash", "origin", "main"):
        return True
    _try(project, "rebase", "--abort")
    return False


def reverts(project: Project, known: Known, chance: random.Random) -> bool:
    """Goes to the feature's branch, takes a landed story back, and returns."""
    found = [commit for commits in landings(project, known.base).values() for commit in commits]
    if not found or not is_quiet(project) or git(project, "status", "--porcelain", "--", "src"):
        return False
    before = head(project)
    if not _switch(project, project.branch):
        return False
    done = _try(project, "revert", "--no-edit", chance.choice(sorted(found))) or not _try(project, "revert", "--abort")
    return (_switch(project, before) if before else True) and done


def collects_garbage(project: Project, known: Known, chance: random.Random) -> bool:
    """Everything that no ref names is thrown away; while Ralphy runs, only what is old."""
    return _try(project, "gc", "-q", *(("--prune=now",) if is_quiet(project) else ()))


def removes_the_lanes(project: Project, known: Known, chance: random.Random) -> bool:
    """Clears the caches."""
    folder = Path(project.env["HOME"]) / ".cache" / "ralphy"
    shutil.rmtree(folder, ignore_errors=True)
    return True


def edits_another_feature(project: Project, known: Known, chance: random.Random) -> bool:
    """Uncommitted work in another feature's folder."""
    path = project.repo / "docs/features/other/PRD.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(f"# Other\n\n## Objective\n\n- hours of work {chance.random()}\n".encode())
    known.precious[path] = path.read_bytes()
    return True


def keeps_an_ignored_file(project: Project, known: Known, chance: random.Random) -> bool:
    """A file that git does not know and the person needs."""
    path = project.repo / f"precious-{chance.randint(0, 3)}.log"
    path.write_bytes(chance.randbytes(200))
    known.precious[path] = path.read_bytes()
    return True


def asks_for_the_status(project: Project, known: Known, chance: random.Random) -> bool:
    """Looking changes nothing, and is no error."""
    for words in (("status", project.name), ("why", project.name), ("status", "--json", project.name)):
        code, said = project.call(*words)
        assert "Traceback" not in said, said
        assert code in (0, 10, 11, ExitCode.CONFLICT, ExitCode.INVALID, 14), (words, code, said)
    return True


def _run(project: Project, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *words], cwd=project.repo, env=project.env, capture_output=True, encoding="utf-8",
                          errors="replace", check=False)  # fmt: skip


def _try(project: Project, *words: str) -> bool:
    return _run(project, *words).returncode == 0


def _forget(project: Project, known: Known) -> None:
    """What was uncommitted in src is in a commit, or in the stash."""
    known.precious = {path: data for path, data in known.precious.items() if path.parent != project.repo / "src"}


BESIDE: dict[Deed, int] = {  # what a person may do at any moment
    edits_code: 4,
    commits: 3,
    stashes: 2,
    switches: 6,
    pulls: 3,
    collects_garbage: 1,
    removes_the_lanes: 1,
    edits_another_feature: 1,
    keeps_an_ignored_file: 1,
    asks_for_the_status: 1,
}
DEEDS: dict[Deed, int] = {**BESIDE, notes_in_prd: 4, breaks_prd: 2, reverts: 4}


def drawn(deeds: dict[Deed, int], chance: random.Random) -> Deed:
    return chance.choices(list(deeds), weights=list(deeds.values()))[0]


def react(project: Project, known: Known, code: int) -> str:
    """What the person does about an exit code; "" if there is nothing to be done but to start again."""
    reaction = _REACTIONS.get(code)
    return reaction(project, known) if reaction else ""


def has_emptied_prd(project: Project) -> bool:
    """Is nothing left of prd.json? That may be meant: Ralphy asks, and does not call it invalid."""
    path = project.folder / "prd.json"
    return path.exists() and not path.read_bytes().strip()


def _waits_for_me(project: Project, known: Known) -> str:
    if known.prd_is_broken and has_emptied_prd(project):
        return _invalid(project, known)
    if answer(project):
        return "answered"
    approve(project, known)
    return "approved"


def _open_stories(project: Project, known: Known) -> str:
    return "answered" if answer(project) else "ended with open stories"


def _invalid(project: Project, known: Known) -> str:
    """The person puts prd.json back to what the branch has, as the message says."""
    make_room(project)
    (project.folder / "prd.json").write_text(git(project, "show", f"{project.branch}:{project.path}/prd.json"))
    known.prd_is_broken = False
    return "put prd.json back"


def _ground(project: Project, known: Known) -> str:
    make_room(project)
    return ""


def _breaker(project: Project, known: Known) -> str:
    """As the message says."""
    code, said = project.call("reset-circuit", project.name)
    assert code == ExitCode.DONE, said
    return "reset the circuit"


def _later(project: Project, known: Known) -> str:
    """Not to be waited for: the person comes back in a moment, and the disk has room again."""
    make_room(project)
    time.sleep(COME_BACK_S)
    return "came back later"


_REACTIONS: dict[int, Callable[[Project, Known], str]] = {
    ExitCode.WAITING: _waits_for_me,
    ExitCode.STORIES_OPEN: _open_stories,
    ExitCode.INVALID: _invalid,
    ExitCode.CONFLICT: _ground,
    ExitCode.ENVIRONMENT: _ground,
    ExitCode.LIMITED: _later,
    ExitCode.BREAKER_OPEN: _breaker,
}
