"""The baseline: what the checks say about a tree before any agent has worked on it, and whether they look at it at all.

Before any money is spent, they run once on broken code, which they must catch.
"""

from __future__ import annotations

from collections.abc import Sequence

from ralphy.engine.lane_use.checks import CheckResult, run_checks
from ralphy.engine.lane_use.hooks import ask_before_work
from ralphy.engine.lane_use.lane_layout import lay_out_clean
from ralphy.engine.lane_use.open_lanes import clean_lane
from ralphy.engine.verify.baseline_records import known_tests, record_baseline, without_tests
from ralphy.engine.verify.flakes import ask_again
from ralphy.engine.verify.startable import require_agent
from ralphy.engine.workspace.changes import files_of
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import EnvironmentProblem
from ralphy.lanes.probe import ProbeVerdict, cache_key, probed, remember, remembered
from ralphy.pipeline.model import Snapshot
from ralphy.text.tone import WAITING

_LAST_LINES = 5
_PROBES = "probe.json"


def take_baseline(w: Workspace, snapshot: Snapshot) -> None:
    """Run all checks on the tree as it stands, and record their results, before the first agent."""
    require_agent(w)
    results = run_all(w, snapshot.tree.head)
    _require_ends(results)
    if again := ask_again(w, w.objects.tree_of(snapshot.tree.head), results, w.history.known_red):
        results = again.results
    require_real_checks(w, w.objects.tree_of(snapshot.tree.head), results)
    for result in results:
        if not result.is_green and not result.is_empty:
            w.say("\n".join([f"  the end of what {result.name} printed:",
                             *result.output.strip().splitlines()[-_LAST_LINES:]]))  # fmt: skip
    record_baseline(w, snapshot.tree.code, results)


def run_all(w: Workspace, head: str) -> list[CheckResult]:
    """The results of hook and checks for a commit in the clean lane; what they write there goes with the next tree."""
    lay_out_clean(w, w.objects.tree_of(head), head)
    hooked = ask_before_work(w, head)
    if hooked:
        lay_out_clean(w, w.objects.tree_of(head), head)
    return [*hooked, *run_checks(w, "baseline", until_red=False)]


def _require_ends(results: Sequence[CheckResult]) -> None:
    """Raises EnvironmentProblem for a check that somebody killed: its result says nothing about the code."""
    for result in results:
        if result.killed_by:
            raise EnvironmentProblem(
                f"the check {result.name} was killed from outside (signal {result.killed_by})",
                hint="check whether the machine is short of memory; then run it again",
            )


def tell_what_is_not_asked(w: Workspace, code: str) -> None:
    """Once in a night: where no check names its tests, some questions have no answer. Checks without tests are silent:
    the story brings them."""
    if "unasked" in w.checkout.reported:
        return
    w.checkout.reported.add("unasked")
    if w.config.verify.unproved != "reject" or not w.checks or without_tests(w, code):
        return
    if not any(listing.tests for listing in (known_tests(w, code) or {}).values()):
        names = ", ".join(check.name for check in w.checks)
        w.say(f"No check names its tests ({names}): a skipped test is not noticed, and a story that brings no test is "
              "only flagged. A runner that prints each test's name helps (`go test -v`).", WAITING)  # fmt: skip


def require_real_checks(w: Workspace, tree: str, before: Sequence[CheckResult]) -> None:
    """EnvironmentProblem if the checks stay green on sources that cannot work (`lanes.probe: stop`).

    The answer is remembered for the same checks, manifests and lock files; where all are red there is none yet.
    """
    if w.config.lanes.probe == "off" or not w.checks:
        return
    commands = {check.name: check.run for check in w.checks}
    is_mounted = clean_lane(w).is_mounted
    brought = [one.path for one in w.checkout.brought or ()]
    files = {path: entry.oid for path, entry in files_of(w, tree)}
    key = cache_key(files, commands, setup=w.config.setup, is_mounted=is_mounted, brought=brought)
    store = w.repository.state_dir / _PROBES
    verdict = remembered(store, key) or _ask_on_broken_code(w, tree, before, is_mounted=is_mounted)
    if any(result.is_green for result in before):
        remember(store, key, verdict)
    for note in verdict.notes:
        w.say(note, WAITING)
    if verdict.problem and w.config.lanes.probe == "stop":
        raise EnvironmentProblem(verdict.problem, where="checks", hint=f"{verdict.hint}; or set lanes.probe: warn")
    if verdict.problem:
        w.say(f"{verdict.problem} ({verdict.hint})", WAITING)


def _ask_on_broken_code(w: Workspace, tree: str, before: Sequence[CheckResult], *, is_mounted: bool) -> ProbeVerdict:
    commands, trees = {check.name: check.run for check in w.checks}, list[str]()

    def run(broken: str) -> list[str]:
        trees.append(broken)
        w.say("Checking that the checks catch broken code…")
        lay_out_clean(w, broken)
        return [result.name for result in run_checks(w, "probe", until_red=False) if result.is_green]

    green = [result.name for result in before if result.is_green and result.name in commands]
    excluded = (w.config.project.features_dir,)
    verdict = probed(w.objects, tree, commands, green, run, is_mounted=is_mounted, excluded=excluded)
    if trees and not verdict.problem:
        w.say("ok: the checks catch broken code")
    return verdict
