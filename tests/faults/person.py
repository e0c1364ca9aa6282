"""The simulated person of a chaotic night: reads exit codes, says yes, answers, and meddles between the runs."""

from __future__ import annotations

import json
import random
import subprocess
import time
from collections.abc import Callable

from ralphy.errors import ExitCode
from tests.engine.building import Project
from tests.faults.invariants import Known, git, is_quiet, landings
from tests.faults.strikes import make_room

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
    if not path.exists() or not git(project, "cat-file", "-t", f"HEAD:{project.path}/prd.json"):
        return False
    known.prd_is_touched = known.prd_is_broken = True
    path.write_bytes(path.read_bytes()[: chance.randint(0, 200)])
    return True


def reverts(project: Project, known: Known, chance: random.Random) -> bool:
    """Takes a landed story back."""
    found = [commit for commits in landings(project, known.base).values() for commit in commits]
    if not found or not is_quiet(project) or git(project, "status", "--porcelain"):
        return False
    done = subprocess.run(["git", "revert", "--no-edit", chance.choice(sorted(found))], cwd=project.repo,
                          env=project.env, capture_output=True, check=False)  # fmt: skip
    if done.returncode:
        git(project, "revert", "--abort")
    return done.returncode == 0


def commits_on_main(project: Project, known: Known, chance: random.Random) -> bool:
    """Work on another branch, without leaving this one."""
    if git(project, "symbolic-ref", "HEAD").strip() == "refs/heads/main":
        return False
    words = ("commit-tree", "-p", "main", "-m", f"feat: elsewhere {chance.random()}", "main^{tree}")
    commit = git(project, *words).strip() if is_quiet(project) else ""
    if not commit:
        return False
    git(project, "update-ref", "refs/heads/main", commit)
    known.git_state["main"] = commit
    return True


def edits_another_feature(project: Project, known: Known, chance: random.Random) -> bool:
    """Uncommitted work in another feature's folder."""
    path = project.repo / "docs/features/other/PRD.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(f"# Other\n\n- hours of work {chance.random()}\n".encode())
    known.precious[path] = path.read_bytes()
    return True


def keeps_an_ignored_file(project: Project, known: Known, chance: random.Random) -> bool:
    """A file that git does not know and the person needs."""
    path = project.repo / f"precious-{chance.randint(0, 3)}.log"
    path.write_bytes(chance.randbytes(200))
    known.precious[path] = path.read_bytes()
    return True


def leaves_work_about(project: Project, known: Known, chance: random.Random) -> bool:
    """An uncommitted file of code: Ralphy refuses, until it is taken away."""
    if not is_quiet(project):
        return False
    path = project.repo / "src" / "mine.py"
    path.write_bytes(f"MINE = {chance.random()}\n".encode())
    known.precious[path] = path.read_bytes()
    if chance.random() < 0.5:
        git(project, "add", "src/mine.py")
    return True


def asks_for_the_status(project: Project, known: Known, chance: random.Random) -> bool:
    """Looking changes nothing, and is no error."""
    for words in (("status", project.name), ("why", project.name), ("status", "--json", project.name)):
        code, said = project.call(*words)
        assert "Traceback" not in said, said
        assert code in (0, 10, 11, ExitCode.CONFLICT, ExitCode.INVALID, 14), (words, code, said)
    return True


DEEDS: dict[Deed, int] = {
    notes_in_prd: 3,
    breaks_prd: 2,
    reverts: 4,
    commits_on_main: 2,
    edits_another_feature: 2,
    keeps_an_ignored_file: 2,
    leaves_work_about: 3,
    asks_for_the_status: 1,
}


def react(project: Project, known: Known, code: int) -> str:
    """What the person does about an exit code; "" if there is nothing to be done but to start again."""
    reaction = _REACTIONS.get(code)
    return reaction(project, known) if reaction else ""


def _at_a_gate(project: Project, known: Known) -> str:
    approve(project, known)
    return "approved"


def _open_stories(project: Project, known: Known) -> str:
    return "answered" if answer(project) else "ended with open stories"


def _invalid(project: Project, known: Known) -> str:
    """The person mends prd.json, as the message says."""
    make_room(project)
    project.git("checkout", "HEAD", "--", f"{project.path}/prd.json")
    known.prd_is_touched = known.prd_is_broken = False
    return "mended prd.json"


def _conflict(project: Project, known: Known) -> str:
    """The person takes away what is the person's own, and makes room: the remote lies on the same disk."""
    make_room(project)
    mine = project.repo / "src" / "mine.py"
    if mine in known.precious:
        assert mine.read_bytes() == known.precious.pop(mine), "the person's file was changed"
        git(project, "rm", "-q", "--cached", "src/mine.py")
        mine.unlink()
        return "took own work away"
    return ""


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
    ExitCode.WAITING: _at_a_gate,
    ExitCode.STORIES_OPEN: _open_stories,
    ExitCode.INVALID: _invalid,
    ExitCode.CONFLICT: _conflict,
    ExitCode.ENVIRONMENT: _ground,
    ExitCode.LIMITED: _later,
    ExitCode.BREAKER_OPEN: _breaker,
}
