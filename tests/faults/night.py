"""One feature of a chaotic night: drawn from a seed, driven to its end through kills, faults and cheats, and looked at.

Everything that is drawn comes from the seed alone; when a strike really falls depends on how fast the machine is.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ralphy.documents.prd_reader import check_prd
from ralphy.errors import ExitCode, RalphyError
from tests.conftest import FOREIGN, GIT_CONFIG
from tests.engine.building import ROOT, Project, build, story
from tests.engine.driver import KILLED
from tests.faults import person, scenes, strikes
from tests.faults.invariants import Known, broken, broken_at_rest
from tests.faults.world import changed, git, world_of

RUN_S = 240.0  # a call of the loop that takes longer hangs
MOST_CALLS = 30  # without any further disturbance a feature has to come to its end within so many calls
READ_EVERY_S = 0.005
SMALL_DISK = "40m"
BY_SIGNAL = (ExitCode.INTERRUPTED, ExitCode.TERMINATED, -9, -2, -15, -1, 129, KILLED)
TRACEBACK = re.compile(r"^Traceback", re.M)  # an agent's own may be quoted
NOT_BEGUN = "Could not import runpy module"  # Python was interrupted before any of Ralphy, and ends with 1


@dataclass(slots=True)
class Told:
    """What a feature's night was like."""

    seed: int
    end: str = ""
    seconds: float = 0.0
    calls: int = 0
    landed: int = 0
    reads: int = 0
    strikes: Counter[str] = field(default_factory=Counter)
    scenes: Counter[str] = field(default_factory=Counter)
    deeds: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Plan:
    """What the seed has drawn."""

    chance: random.Random
    stories: tuple[dict[str, Any], ...]
    settings: dict[str, Any]
    scenario: dict[str, Any]
    strikes: tuple[strikes.Strike, ...]
    deeds: tuple[person.Deed | None, ...]
    drawn: tuple[scenes.Scene, ...]
    on_a_small_disk: str  # "place" for the repository, "home" for its lanes


def draw(seed: int) -> Plan:
    """The plan of a feature: its stories, what their agents do, what strikes when, and what the person does."""
    chance = random.Random(seed)
    count = chance.randint(2, 4)
    names = [f"US-{number:03}" for number in range(1, count + 1)]
    is_by_hand = chance.random() < 0.4
    stories = tuple(
        story(name, **({"dependsOn": [chance.choice(names[:i])]} if i and chance.random() < 0.4 else {}))
        for i, name in enumerate(names)
    )
    acts, drawn = {}, []
    for name in names:
        before = scenes.drawn(chance)
        drawn += before
        acts[name] = [*(scene.act for scene in before), chance.choice(scenes.LAST)]
    scenario: dict[str, Any] = {
        "defaults": {"cost_usd": 0.01, "delay_s": chance.choice((0, 0, 0, 0.05, 0.15))},
        "spec": chance.choice(scenes.SPECS),
        "qa": chance.choice(scenes.REVIEWS),
        "stories": {**acts, "*": [scenes.LAST[0]]},
    }
    gates = {"spec": chance.choice(("auto", "auto", "human")), "qa": chance.choice(("auto", "auto", "human"))}
    is_boxed = chance.random() < 0.15  # where there is a sandbox, some are in it
    if is_boxed:  # its agents cannot count their runs: what costs no attempt would be played for ever
        scenario["qa"] = scenes.REVIEWS[0]
        scenario["stories"] = {
            name: [act for act in acts if not is_free(act)] for name, acts in scenario["stories"].items()
        }
    is_small = os.geteuid() == 0 and chance.random() < 0.12
    small = chance.choice(("place", "home")) if is_small else ""
    kinds = strikes.ON_A_SMALL_DISK if is_small else strikes.ORDINARY
    return Plan(
        chance,
        stories if is_by_hand else (),
        {
            "gates": gates,
            "lanes": {"probe": "off"},  # the check reads a word: broken code does not turn it red
            "safety": {"sandbox": "auto" if is_boxed else "none"},
            "limits": {"max_attempts": 9, "min_free_mb": 0},
            "timeouts": {"agent": 2.5},
        },
        scenario,
        tuple(strikes.draw(chance, kinds) for _ in range(chance.randint(0, 4))),
        tuple(person.drawn(person.DEEDS, chance) if chance.random() < 0.5 else None for _ in range(6)),
        tuple(drawn),
        small,
    )


def is_free(act: dict[str, Any]) -> bool:
    """An act that uses no attempt."""
    return "limit" in act or act.get("error") == "auth"


def spend(seed: int, folder: Path, jobs: int = 1) -> Told:
    """Go through the night of one feature in an empty folder, with so many agents side by side."""
    began = time.monotonic()
    plan, told = draw(seed), Told(seed)
    told.scenes.update(scene.name for scene in plan.drawn)
    for name in ("place", "home"):
        (folder / name).mkdir(exist_ok=True)
    place = folder / "place"
    with small_disk(folder / (plan.on_a_small_disk or "place"), bool(plan.on_a_small_disk)) as disk:
        at_home(folder)
        project = build(place, *plan.stories, **{**plan.settings, "lanes": {**plan.settings["lanes"], "jobs": jobs}})
        if not plan.stories:
            project.write(
                "PRD.md",
                "# Login\n\n## Objective\n\n"
                + "".join(f"- Wish {n}\n" for n in range(1, len(plan.scenario["stories"]))),
            )
        project.add_remote(place / "remote.git")
        project.git("push", "-q", "origin", "main")
        project.play(**plan.scenario)
        project.env["SMALL_DISK"] = str(disk)
        known = Known(base=project.git("rev-parse", "HEAD"), world=world_of(project))
        try:
            told.end = Night(plan, project, known, told).go()
        except (AssertionError, RalphyError, OSError, subprocess.SubprocessError, ValueError) as error:
            told.violations.append(f"{type(error).__name__}: {error}"[:800])
        if told.violations and plan.on_a_small_disk:
            shutil.copytree(disk, folder / "kept", symlinks=True, ignore=shutil.ignore_patterns("ballast"))
    told.seconds = time.monotonic() - began
    return told


def at_home(folder: Path) -> None:
    """A home of its own, and nothing in the environment that belongs to whoever started this."""
    home = folder / "home"
    home.mkdir(parents=True, exist_ok=True)
    for name in list(os.environ):
        if name.startswith(FOREIGN):
            del os.environ[name]
    (home / "gitconfig").write_text(GIT_CONFIG, encoding="utf-8")
    os.environ.update(HOME=str(home), XDG_CONFIG_HOME=str(home / ".config"), GIT_CONFIG_GLOBAL=str(home / "gitconfig"),
                      GIT_CONFIG_NOSYSTEM="1", NO_COLOR="1")  # fmt: skip


@contextmanager
def small_disk(folder: Path, is_wanted: bool) -> Iterator[Path]:
    """A small file system of its own for a folder, where one may be mounted."""
    options = ["-t", "tmpfs", "-o", f"size={SMALL_DISK}", "tmpfs", str(folder)]
    if not is_wanted or subprocess.run(["mount", *options], capture_output=True, check=False).returncode:
        yield folder
        return
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=False)


@dataclass(slots=True)
class Night:
    """The calls of Ralphy for one feature, one after the other."""

    plan: Plan
    project: Project
    known: Known
    told: Told

    def go(self) -> str:
        """Call the loop until the feature is at its end; how it ended."""
        last, same, answered = None, 0, 0
        for number in range(MOST_CALLS):
            strikes.make_room(self.project)
            if number < len(self.plan.deeds) and (deed := self.plan.deeds[number]):
                self._meddle(deed)
            strike = self.plan.strikes[number] if number < len(self.plan.strikes) else None
            code = self._call(strike)
            self.told.calls += 1
            is_asked = code == ExitCode.WAITING and person.has_emptied_prd(self.project)
            is_unread = code in BY_SIGNAL or code == ExitCode.ENVIRONMENT  # on a full disk it ends before it looks
            self.known.prd_is_broken &= is_unread or code == ExitCode.INVALID or is_asked
            self._look()
            if code == ExitCode.DONE and number >= len(self.plan.strikes):
                return self._end("done")
            if code == ExitCode.DONE:
                continue
            if code == ExitCode.UNEXPECTED or (code in BY_SIGNAL and strike is None):
                raise AssertionError(f"exit {code}: {self._said()}")
            reaction = person.react(self.project, self.known, code) if code not in BY_SIGNAL else ""
            self.told.log.append(f"exit {code}" + (f", {reaction}" if reaction else ""))
            if reaction.startswith("ended"):
                self.told.log.append(self._said()[-300:])
            if reaction == "ended with open stories":
                return self._end("open stories")
            same = same + 1 if code == last and not reaction and strike is None else 0
            last = code
            answered += reaction == "answered"
            assert same < 4, f"exit {code} five times over: {self._said()}"
        raise AssertionError(f"no end after {MOST_CALLS} calls: {self._said()}")

    def _end(self, how: str) -> str:
        self.told.landed = len(git(self.project, "log", "--format=%H", f"{self.known.base}..{self.project.branch}",
                                   "--grep=^Ralphy-Story: ").split())  # fmt: skip
        self.told.violations += broken_at_rest(self.project, self.known)
        if how == "done":
            here = git(self.project, "rev-parse", self.project.branch).strip()
            there = git(self.project, "ls-remote", "origin", self.project.branch).split()
            if there[:1] != [here]:
                self.told.violations.append(f"the remote has {there[:1]}, the branch is {here}")
            prd = check_prd((self.project.folder / "prd.json").read_bytes(), "prd.json")
            open_ones = [found["id"] for found in prd["userStories"] if found["status"] != "completed"]
            if open_ones:
                self.told.violations.append(f"done, and {open_ones} are open")
        return how

    def _meddle(self, deed: person.Deed) -> bool:
        """The person does something in the checkout; what it was like until then, Ralphy has left alone."""
        found = list(changed(self.known.world, world_of(self.project)))
        assert not found, f"before the person {deed.__name__}: {'; '.join(found)}"
        did = deed(self.project, self.known, self.plan.chance)
        self.known.world = world_of(self.project)
        if did:
            self.told.deeds[deed.__name__] += 1
            self.told.log.append(f"the person {deed.__name__.replace('_', ' ')}")
        return did

    def _look(self) -> None:
        found = broken(self.project, self.known)
        self.told.log += found
        assert not found, "; ".join(found)

    def _call(self, strike: strikes.Strike | None) -> int:
        """One call of the loop, struck or not; its exit code."""
        with self._errors().open("wb") as errors:
            process = subprocess.Popen(
                self._words(strike), cwd=self.project.repo if not self._is_driven(strike) else ROOT,
                env={**self.project.env, "PYTHONPATH": str(ROOT)}, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, encoding="utf-8",
            )  # fmt: skip
        with self._reading(is_possible=not strike or strike.kind != strikes.A_PERSON):
            try:
                if strike and not self._is_driven(strike) and strikes.await_moment(strike, self.project, process):
                    self._strike(strike, process)
                code = process.wait(RUN_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait()
                raise AssertionError(f"a call took more than {RUN_S:.0f} s: {self._said()}") from None
        if strike and self._is_driven(strike) and code == KILLED:
            self._note(strike)
        said = self._errors().read_text(encoding="utf-8", errors="replace")
        code = ExitCode.INTERRUPTED if said.startswith(NOT_BEGUN) else code
        assert "uncommitted changes" not in said, f"a person's work is no reason to stop: {said[-600:]}"
        is_early = code in BY_SIGNAL and said.rstrip().endswith("KeyboardInterrupt")
        assert not TRACEBACK.search(said) or is_early, said[-1500:]
        return code

    def _errors(self) -> Path:
        return self.project.repo.parent.parent / "said"

    def _said(self) -> str:
        return self._errors().read_text(encoding="utf-8", errors="replace")[-600:]

    @staticmethod
    def _is_driven(strike: strikes.Strike | None) -> bool:
        return strike is not None and bool(strike.at)

    def _words(self, strike: strikes.Strike | None) -> list[str]:
        if strike and strike.at:
            words = [
                "tests.engine.driver",
                str(self.project.repo),
                self.project.path,
                "die",
                strike.at,
                str(strike.nth),
            ]
        else:
            words = ["ralphy", "loop", self.project.name, *(["--no-wait"] if self.plan.on_a_small_disk else [])]
        return [sys.executable, "-P", "-m", *words]

    def _strike(self, strike: strikes.Strike, process: subprocess.Popen[str]) -> None:
        if strike.kind == strikes.A_PERSON:
            self._meddle(person.drawn(person.BESIDE, self.plan.chance))
        elif not strikes.hit(strike, self.project, process):
            return
        self._note(strike)

    def _note(self, strike: strikes.Strike) -> None:
        self.told.strikes[strike.kind] += 1
        self.told.log.append(f"struck: {strike.kind} {strike.at}".rstrip())

    @contextmanager
    def _reading(self, *, is_possible: bool) -> Iterator[None]:
        """Read prd.json all the time, as a status bar would: it is always whole."""
        over, path = threading.Event(), self.project.folder / "prd.json"
        found: list[str] = []
        was_there = False

        def read() -> None:
            nonlocal was_there
            while not over.wait(READ_EVERY_S):
                try:
                    data = path.read_bytes()
                except FileNotFoundError:
                    found.extend(["prd.json was gone while it is replaced"] if was_there else [])
                    continue
                try:
                    check_prd(data, "prd.json")
                    self.told.reads += 1
                    was_there = True
                except RalphyError as error:
                    found.append(f"prd.json was read while it is replaced: {error}")
                    return

        reader = threading.Thread(target=read)
        if is_possible and not self.known.prd_is_broken:
            reader.start()
        try:
            yield
        finally:
            over.set()
            if reader.ident:
                reader.join()
        assert not found, found[0]
