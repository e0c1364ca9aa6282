"""A world of values: what `observe` and `act` do to a feature, without files, git or agents.

Every act may succeed or fail as the test's choices say; the folds are the real ones. It keeps to the
engine's contract, and to nothing else of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ralphy.agents.protocol import Outcome
from ralphy.config.values import Config
from ralphy.pipeline import decision as d
from ralphy.pipeline import stories
from ralphy.pipeline.decide import decide
from ralphy.pipeline.history import History
from ralphy.pipeline.model import (
    Answer,
    Artifact,
    Baseline,
    Document,
    Marker,
    Prd,
    QaReport,
    ReviewFinding,
    Session,
    Snapshot,
    Status,
    Tree,
)
from ralphy.pipeline.parts import noted
from ralphy.pipeline.split import split

FEATURE = "login"
Choose = Callable[[list[Any]], Any]

STORY_ENDS = ["lands", "rejected", "crashed", "asks", "timed_out", "too_large", "limited", "transient", "dies"]
STEP_ENDS = ["succeeded", "rejected", "crashed", "too_large", "limited", "transient", "dies"]
_OUTPUT = {"spec": "SPEC.md", "qa": "QA_REPORT.md", "pr": "PR.md"}
_ARTIFACT = {"spec": "SPEC.md", "qa": "QA_REPORT.md"}


@dataclass
class World:
    """`choose` picks one of a list: how an act ends, what an agent writes, which tests are red."""

    choose: Choose
    config: Config
    prd: Prd = field(default_factory=lambda: Prd.of({"userStories": []}))
    history: History = field(default_factory=lambda: History(FEATURE))
    session: Session = field(default_factory=Session)
    artifacts: dict[str, Artifact] = field(default_factory=dict)
    markers: dict[str, Marker] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    qa: QaReport | None = None
    baselines: dict[str, Baseline] = field(default_factory=dict)
    has_branch: bool = False
    code: int = 0
    now: float = 1000.0
    ticks: int = 1
    edited: bool = False
    intent: bool = False
    runs: list[tuple[str, str]] = field(default_factory=list)
    completed_by: dict[str, str] = field(default_factory=dict)

    def observe(self) -> Snapshot:
        run = self.history.open_runs
        return Snapshot(
            feature=FEATURE,
            now=self.now,
            prd=self.prd,
            tree=Tree(
                head=f"h{self.ticks}",
                branch="ralph/login" if self.has_branch else "main",
                base="main",
                feature_branch="ralph/login",
                code=f"code-{self.code}",
                edited=("PRD.md",) if self.edited else (),
            ),
            history=self.history,
            artifacts=dict(self.artifacts),
            markers=dict(self.markers),
            answers=tuple(Answer(story, text) for story, text in self.answers.items()),
            baseline=self.baselines.get(f"code-{self.code}"),
            qa=self.qa if "QA_REPORT.md" in self.artifacts else None,
            unfinished="a run ended without a word" if run else "",
            session=self.session,
        )

    def step(self) -> d.Decision:
        """Decide once, and act if there is anything to do."""
        seen = self.observe()
        decision = decide(seen, self.config)
        if not isinstance(decision, d.Rest):
            self.ticks += 1
            _ACTS[type(decision)](self, decision, seen)
        return decision

    def loop(self, most: int) -> d.Decision:
        """Go on until a rest; AssertionError after `most` decisions."""
        for _ in range(most):
            decision = self.step()
            if isinstance(decision, d.Rest):
                return decision
        raise AssertionError(f"no rest after {most} decisions, the last: {decision}")

    def write(self, name: str) -> None:
        """A file with new content; what is newer than a marker makes it stale."""
        self.ticks += 1
        self.artifacts[name] = Artifact(f"{name}@{self.ticks}", self.ticks)

    def mark(self, name: str, text: str = "") -> None:
        self.ticks += 1
        self.markers[name] = Marker(self.ticks, text)

    def record(self, ev: str, **fields: Any) -> None:
        self.history.add({"ev": ev, "feature": FEATURE, "at": self.now, **fields})

    def digest(self, name: str) -> str:
        found = self.artifacts.get(name)
        return found.digest if found else ""

    def start_again(self) -> None:
        """A new invocation."""
        self.session = Session(accepts_red=True)


def _recover(w: World, _: d.Decision, __: Snapshot) -> None:
    (run,) = w.history.open_runs
    kept = w.choose([{}, {"tree": "t", "heals": True, "work": "w-1"}, {"tree": "t", "heals": True, "work": w.ticks}])
    more = {**kept, "work": str(kept["work"])} if kept else {}
    w.record("end", run=run["run"], outcome=Outcome.DIED.value, detail="died", **more)


def _run_agent(w: World, decision: d.RunAgent, s: Snapshot) -> None:
    run = f"run-{len(w.runs)}"
    w.runs.append((decision.step, decision.story or ""))
    w.record("run", run=run, step=decision.step, story=decision.story, attempt=decision.attempt, mode=decision.mode)
    w.session = replace(w.session, runs=w.session.runs + 1)
    if decision.step == "split":
        _cut(w, str(decision.story), run)
    elif decision.story:
        _work(w, decision.story, decision.attempt, run)
    else:
        _author(w, decision.step, run, s)


def _work(w: World, story: str, attempt: int, run: str) -> None:
    assert not w.prd.story(story).is_completed, f"{story} is completed and was run again"
    ends = w.choose(STORY_ENDS)
    if ends == "dies":
        return
    if ends == "lands":
        w.code += 1
        w.baselines[f"code-{w.code}"] = Baseline(is_green=True)
        fields = stories.completed(w.prd.story(story), {"attempts": attempt}, {"run": run}, [])
        w.prd = w.prd.with_story(story, **fields)
        w.completed_by[story] = run
        w.record("end", run=run, outcome="succeeded", landed=True, code=f"code-{w.code}", changed=f"code-{w.code}")
    elif ends == "asks":
        w.prd = w.prd.with_story(story, **stories.not_passed(w.prd.story(story), Status.BLOCKED, attempt, "which?"))
        w.record("end", run=run, outcome=Outcome.NEEDS_INPUT.value, changed="", error="asks")
    else:
        _close(w, {"story": story, "attempt": attempt}, run, ends)


def _close(w: World, run: Mapping[str, Any], run_id: str, outcome: str) -> None:
    story = run.get("story")
    if outcome in ("limited", "transient"):
        w.record("end", run=run_id, outcome=outcome, retry_at=w.now + 60, detail="later")
        return
    if story:
        old = w.prd.story(str(story))
        w.prd = w.prd.with_story(str(story), **stories.not_passed(old, Status.PENDING, int(run["attempt"]), outcome))
    more = (
        {} if outcome == "crashed" else {"changed": w.choose(["", "t-1", f"t-{run_id}"]), "error": w.choose(["a", "b"])}
    )
    w.record("end", run=run_id, outcome=outcome, failure=outcome, heals=w.choose([True, False]), tree=f"t-{run_id}",
             test_only=w.choose([None, True]), **more)  # fmt: skip


def _succeeds(w: World, run: str) -> bool:
    """Does the run of a step come to a good end? It dies, or is closed with another one, if not."""
    ends: str = w.choose(STEP_ENDS)
    if ends not in ("dies", "succeeded"):
        _close(w, {}, run, ends)
    return ends == "succeeded"


def _cut(w: World, story: str, run: str) -> None:
    """Pieces are cut off a story, or not."""
    if not _succeeds(w, run):
        return
    draft: list[Document] = [{"id": name, "title": name} for name in w.choose([["A"], ["A", "B"]])]
    before = w.prd
    w.prd = split(w.prd, w.prd.story(story), draft)
    assert len(w.prd.stories) == len(before.stories) + len(draft)
    w.record("end", run=run, outcome="succeeded")


def _author(w: World, step: str, run: str, s: Snapshot) -> None:
    if not _succeeds(w, run):
        return
    w.write(_OUTPUT[step])
    _WRITERS[step](w, s)
    w.record("end", run=run, outcome="succeeded", changed="")


def _write_spec(w: World, s: Snapshot) -> None:
    number = len(w.prd.stories)
    draft: list[Document] = [
        {"id": f"US-{number + n}", "title": "t", "priority": n, "dependsOn": [f"US-{number + n - 1}"] if n else []}
        for n in range(w.choose([1, 2, 3]))
    ]
    new = stories.merged(w.prd, [stories.as_drafted(story) for story in draft]) if w.choose([True, False]) else []
    w.prd = w.prd.with_stories(new) if new or not w.prd.stories else w.prd
    if not w.prd.stories:
        w.prd = w.prd.with_stories([stories.as_drafted(story) for story in draft])
    record = {"inputs": {"PRD.md": s.digest("PRD.md")}, "outputs": {"SPEC.md": w.digest("SPEC.md")}}
    w.prd = _answered(w.prd.with_step("spec", record), "spec")


def _write_review(w: World, s: Snapshot) -> None:
    severities = w.choose([[], ["minor"], ["major"], ["critical", "major"]])
    w.qa = QaReport(w.choose(["pass", "fail"]), tuple(ReviewFinding(name, "a thing") for name in severities))
    record = {"inputs": {"SPEC.md": s.digest("SPEC.md"), "code": s.tree.code}}
    w.prd = _answered(w.prd.with_step("qa", record), "qa")


def _write_text(w: World, s: Snapshot) -> None:
    w.prd = w.prd.with_step("pr", {"inputs": {"QA_REPORT.md": s.digest("QA_REPORT.md"), "code": s.tree.code}})


def _answered(prd: Prd, gate: str) -> Prd:
    said = [{**a, "answered": True} if a["gate"] == gate else a for a in prd.workflow.get("approvals", ())]
    return prd.with_workflow(approvals=said)


_WRITERS = {"spec": _write_spec, "qa": _write_review, "pr": _write_text}


def _say(w: World, s: Snapshot, gate: str, verdict: str, text: str = "") -> None:
    entry = {"gate": gate, "verdict": verdict, "digest": s.digest(_ARTIFACT[gate]), "text": text}
    if gate == "qa":
        entry["code"] = s.tree.code
    w.prd = w.prd.with_workflow(approvals=[*w.prd.workflow.get("approvals", ()), entry])


def _approve(w: World, decision: d.Approve, s: Snapshot) -> None:
    _say(w, s, decision.gate, "approved")
    if decision.gate == "spec" and s.prd.step("spec"):
        w.prd = w.prd.with_step("spec", {**s.prd.step("spec"), "inputs": {"PRD.md": s.digest("PRD.md")}})
    w.markers.pop("APPROVED", None)


def _reject(w: World, decision: d.Reject, s: Snapshot) -> None:
    _say(w, s, decision.gate, "revise" if decision.text else "rejected", decision.text)
    w.record("reset", step=decision.gate)
    del w.markers["REJECTED"]


def _give_up(w: World, decision: d.GiveUp, _: Snapshot) -> None:
    w.prd = w.prd.with_story(decision.story, passes=False, status=Status.FAILED.value)


def _take_answer(w: World, decision: d.TakeAnswer, _: Snapshot) -> None:
    text = w.answers.pop(decision.story)
    story = w.prd.story(decision.story)
    if Answer(story.id, text).is_yes:
        w.prd = w.prd.with_story(story.id, **stories.completed(story, {}, {"accepted": "a person"}, []))
        w.completed_by[story.id] = "a person"
    else:
        w.prd = w.prd.with_story(story.id, **stories.reopened(story))
    w.record("reset", story=story.id, feedback=text)


def _prove_parts(w: World, decision: d.ProveParts, s: Snapshot) -> None:
    change = s.prd.story(decision.story).raw["evidence"]["change"]
    w.session = replace(w.session, parts={**w.session.parts, decision.story: noted(change, 1, [], 0)})


def _add_fixes(w: World, _: d.AddFixes, s: Snapshot) -> None:
    assert s.qa
    new = stories.fixes(s.prd, s.qa.blocking, max(1, s.history.qa_rounds))
    before = len(w.prd.stories)
    w.prd = w.prd.with_stories(stories.merged(s.prd, new))
    assert len(w.prd.stories) == before + len(s.qa.blocking), "a finding was lost"
    w.prd = w.prd.with_step("qa", {**s.prd.step("qa"), "fixed": s.digest("QA_REPORT.md")})


def _open_gate(w: World, decision: d.OpenGate, s: Snapshot) -> None:
    shown = s.artifacts[_ARTIFACT[decision.gate]]
    w.record("gate", gate=decision.gate, digest=shown.digest, ctime_ns=shown.ctime_ns)


def _take_baseline(w: World, _: d.Decision, s: Snapshot) -> None:
    red = w.choose([(), (), ("test_a",), ("test_a", "test_b")])
    w.baselines[s.tree.code] = Baseline(not red, red)


def _accept_red(w: World, _: d.Decision, s: Snapshot) -> None:
    assert s.baseline
    w.record("accept_red", tests=list(s.baseline.red))


def _open_branch(w: World, _: d.Decision, s: Snapshot) -> None:
    w.has_branch = True
    w.prd = stories.canonical(s.prd)


def _adopt(w: World, _: d.Decision, s: Snapshot) -> None:
    w.edited = False
    w.prd = stories.canonical(s.prd)


def _stop(w: World, _: d.Decision, __: Snapshot) -> None:
    del w.markers["STOP"]
    w.session = replace(w.session, stop_asked=True)


def _set_aside(w: World, decision: d.SetAside, _: Snapshot) -> None:
    del w.markers[decision.marker]


def _publish(w: World, _: d.Decision, s: Snapshot) -> None:
    if w.choose([True, True, True, False]):
        w.prd = w.prd.with_workflow(pr={"code": s.tree.code, "url": "https://example.org/1"})
    else:
        w.session = replace(w.session, fatal="the push was refused")


_ACTS: dict[type[d.Decision], Callable[[World, Any, Snapshot], None]] = {
    d.Recover: _recover,
    d.SetAside: _set_aside,
    d.Stop: _stop,
    d.Adopt: _adopt,
    d.Approve: _approve,
    d.Reject: _reject,
    d.OpenGate: _open_gate,
    d.OpenBranch: _open_branch,
    d.TakeBaseline: _take_baseline,
    d.AcceptRed: _accept_red,
    d.RunAgent: _run_agent,
    d.GiveUp: _give_up,
    d.TakeAnswer: _take_answer,
    d.ProveParts: _prove_parts,
    d.AddFixes: _add_fixes,
    d.Publish: _publish,
}
