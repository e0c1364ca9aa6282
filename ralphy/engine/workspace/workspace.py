"""The workspace: a feature, its repository, and everything outside that acts on them, opened once.

`milestone` is called with a name after every durable step; nothing in production listens to it, and
tests end the process there to prove that a kill costs nothing.
"""

from __future__ import annotations

import math
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from ralphy.agents.protocol import Outcome
from ralphy.clock import steady
from ralphy.config.values import Check, Config
from ralphy.documents.feature_folder import NOT_COMMITTED, Feature
from ralphy.documents.prd_reader import USUAL_BASES
from ralphy.documents.prd_store import PrdStore
from ralphy.engine.workspace.checkout import Checkout
from ralphy.engine.workspace.subject import subject
from ralphy.git import commands as git
from ralphy.git.commands import Repository
from ralphy.git.objects import Objects
from ralphy.git.run_lock import holder
from ralphy.pipeline.breaker import Breaker
from ralphy.pipeline.events import Event, Listener, Said, Tone, of_journal
from ralphy.pipeline.history import History
from ralphy.pipeline.model import Session
from ralphy.secrets.known_values import values_of
from ralphy.state.journal import Journal

_LEFTOVER = re.compile(r"(^|/)(\.#[^/]*|#[^/]*#|[^/]*~|[^/]*\.sw[op]|\.DS_Store)$")  # of editors and file browsers
_SETTINGS = re.compile(
    r"\.ralphy/(config\.yaml|secrets-allow|ralphy\.mk|rehearsal\.(yaml|json)|\.gitignore|(prompts|schemas)/.+)"
)


def _unheard(_: object) -> None:
    """Nobody listens."""


@dataclass(slots=True)
class Workspace:
    """What an act needs. The `listener` hears every event; of a wait it hears every `tick_s` seconds
    (`left_when_reported` has what was left of it when it last did). `waits` has the end of the last wait on the
    `steady` clock.

    One thread uses a workspace.
    """

    repository: Repository
    feature: Feature
    config: Config
    checks: tuple[Check, ...]
    env: Mapping[str, str]
    journal: Journal
    history: History
    store: PrdStore
    checkout: Checkout
    listener: Listener = _unheard
    milestone: Callable[[str], None] = _unheard
    clock: Callable[[], float] = time.time
    steady: Callable[[], float] = steady
    pause: Callable[[float], None] = time.sleep
    tick_s: float = math.inf
    left_when_reported: dict[float | None, float] = field(default_factory=dict)
    waits: dict[float, float] = field(default_factory=dict)
    session: Session = field(default_factory=Session)
    branch: str = ""

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.checkout.close()

    @property
    def objects(self) -> Objects:
        return self.checkout.objects

    @property
    def left_runs(self) -> tuple[Mapping[str, Any], ...]:
        """The runs without an end that nobody works on: Ralphy died in them."""
        known = {work.run for work in self.session.in_work}
        return tuple(run for run in self.history.open_runs if run.get("run") not in known)

    def unsandboxed_agent_running(self, but: object = None) -> bool:
        """Does an agent run without walls, other than that of the run `but`? Then nobody can tell who edited a
        document."""
        return any(not work.is_closed and work.run != but for work in self.session.in_work)

    @property
    def intent(self) -> Path:
        return self.repository.checkout_dir / f"intent-{self.feature.name}.json"

    @property
    def feature_branch(self) -> str:
        """The feature's branch, as prd.json said when it was last read; else the prefix and the name."""
        return self.branch or f"{self.config.git.branch_prefix}{self.feature.name}"

    def emit(self, event: Event) -> None:
        """Tell the listener, with the moment and what it is about."""
        about = subject()
        self.listener(replace(event, at=event.at or self.clock(), feature=self.feature.name,
                              story=event.story or about.story, lane=event.lane or about.lane))  # fmt: skip

    def say(self, text: str, tone: Tone = "", *, is_detail: bool = False) -> None:
        """Tell people something that has no event of its own."""
        self.emit(Said(text=text, tone=tone, is_detail=is_detail))

    def record(self, event: str, *, durable: bool = True, **fields: object) -> None:
        """Append a line to the journal, fold it in, and tell of it if it is an event."""
        given = {"ev": event, "feature": self.feature.name, "at": self.clock(), **fields}
        entry = {k: v for k, v in given.items() if v is not None}
        begun, waits = self.history.begun(fields.get("run")), self.history.waits_in_a_row
        self.journal.append(entry, durable=durable)
        self.journal.catch_up(self.history)
        if event == "end" and self.history.last_end:
            self._note_end(self.history.last_end, is_new_wait=self.history.waits_in_a_row > waits)
        if pipeline_event := of_journal(entry, begun):
            self.emit(pipeline_event)

    def _note_end(self, end: Mapping[str, Any], *, is_new_wait: bool) -> None:
        """What the end of a run means for this invocation alone."""
        outcome, step = end.get("outcome"), str(self.history.last_step)
        troubles = self.session.troubles + is_new_wait if outcome == Outcome.TRANSIENT.value else 0
        fatal = str(end.get("detail") or "the agent cannot run") if outcome == Outcome.FATAL.value else ""
        seconds, now = float(end.get("seconds", 0.0)), self.steady()
        if len(self.session.in_work) > 1:  # what several do at the same time takes that time once
            seconds = min(seconds, now - self.session.ended_at)
        active_s = {**self.session.active_s, step: self.session.active_s.get(step, 0.0) + seconds}
        self.session = replace(self.session, troubles=troubles, fatal=fatal, active_s=active_s, ended_at=now)

    @property
    def worked_on_in(self) -> str:
        """The other checkout in which this feature has a run that lives, or "": its lock is as old as that run."""
        elsewhere = [(place, run) for (place, _), run in self.history.unended.items() if place]
        if not elsewhere:
            return ""
        for place, run in elsewhere:
            held = holder(self.repository.state_dir / "checkouts" / place / "lock")
            since = held.get("since")
            if held and (not isinstance(since, float) or since <= float(run.get("at") or 0.0)):
                return place
        return ""

    def spend(self, cost_usd: float) -> None:
        self.session = replace(self.session, runs=self.session.runs + 1, cost_usd=self.session.cost_usd + cost_usd)

    def new_run_id(self) -> str:
        """A name for a run that sorts by its time, to the millisecond."""
        now = self.clock()
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now))
        return f"{stamp}{int(now * 1000) % 1000:03d}-{secrets.token_hex(4)}"

    def code_of(self, tree: str) -> str:
        """The id of a tree without the feature folder: what is tested, reviewed and compared."""
        return self.objects.id_without(tree, self.feature.path)

    def is_other_feature(self, path: str) -> bool:
        """Does a path lie in the folder of another feature?"""
        prefix = f"{self.config.project.features_dir}/"
        return (
            path.startswith(prefix)
            and not path.startswith(f"{self.feature.path}/")
            and path.count("/") > prefix.count("/")
        )

    @property
    def iso_now(self) -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.clock()))


def open_workspace(
    checkout: Checkout, feature: Feature, config: Config, checks: tuple[Check, ...], env: Mapping[str, str]
) -> Workspace:
    """A workspace on a feature; nothing is written yet."""
    repository = checkout.repository
    journal = Journal(repository.state_dir / "journal.jsonl", values_of(env))
    history = History(feature.name, checkout=repository.checkout_dir.name, breaker=Breaker(config.breaker))
    journal.catch_up(history)
    base = fixed_base(repository, config)  # any other is looked at with the branch that HEAD is on (`observe`)
    store = PrdStore(feature.file("prd.json"), feature.in_repository("prd.json"), (base,) if base else ())
    return Workspace(repository, feature, config, checks, env, journal, history, store, checkout)


def base_branch(repository: Repository, config: Config, noted: str = "") -> str:
    """The branch that the work starts from and the pull request goes to: a fixed one, or the one that the feature's
    branch began on (`noted`), or the current one; "" where that is a feature's."""
    head = git.current_branch(repository)
    here = "" if head.startswith(config.git.branch_prefix) else head
    return fixed_base(repository, config) or noted or here


def fixed_base(repository: Repository, config: Config) -> str:
    """The base branch as far as it does not depend on where HEAD stands: set, or main, or master; else ""."""
    if config.git.base:
        return config.git.base
    usual = (name for name in USUAL_BASES if git.resolve(repository, f"refs/heads/{name}"))
    return next(usual, "")


def is_private(workspace: Workspace, path: str) -> bool:
    """Is a path of the feature folder (or of `.ralphy/`) one that is never committed?

    Of `.ralphy/`, that is what Ralphy does not know and nobody has committed.
    """
    folder = f"{workspace.feature.path}/"
    if not path.startswith(folder):
        return path.startswith(".ralphy/") and not _is_setting(workspace, path)
    name = path.removeprefix(folder)
    if _LEFTOVER.search(name) or name in NOT_COMMITTED or (name.startswith(".") and ".tmp-" in name):
        return True
    return name.startswith(".ralphy/") and not name.startswith((".ralphy/config.yaml", ".ralphy/prompts/"))


def _is_setting(w: Workspace, path: str) -> bool:
    if _SETTINGS.fullmatch(path) and not _LEFTOVER.search(path):
        return True
    head = git.head_of(w.repository)
    return bool(head) and w.objects.at(w.objects.tree_of(head), path) is not None
