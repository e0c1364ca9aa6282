"""Before any money is spent: do the checks look at the lane, and can they turn red at all?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ralphy.engine.lane_use.checks import CheckResult, run_checks
from ralphy.engine.lane_use.lane_layout import clean_lane, lay_out_clean
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import EnvironmentProblem
from ralphy.lanes.bring import coming
from ralphy.lanes.probe import Verdict, cache_key, files_of, probed, remember, remembered
from ralphy.text.tone import WAITING

_MEMORY = "probe.json"


@dataclass(frozen=True, slots=True)
class _Said:
    name: str
    passed: bool


def require_real_checks(w: Workspace, tree: str, before: Sequence[CheckResult]) -> None:
    """EnvironmentProblem if the checks stay green on sources that cannot work (`lanes.probe: stop`).

    The answer is remembered for the same checks, manifests and lock files.
    """
    if w.config.lanes.probe == "off" or not w.checks:
        return
    commands = {check.name: check.run for check in w.checks}
    is_mounted = clean_lane(w).at != clean_lane(w).tree
    brought = [one.path for one in coming(w.checkout.brought or ())]
    key = cache_key(files_of(w.objects, tree), commands, setup=w.config.setup, is_mounted=is_mounted, brought=brought)
    store = w.repository.state_dir / _MEMORY
    verdict = remembered(store, key) or _asked(w, tree, before, is_mounted=is_mounted)
    remember(store, key, verdict)
    for note in verdict.notes:
        w.say(note, WAITING)
    if verdict.problem and w.config.lanes.probe == "stop":
        raise EnvironmentProblem(verdict.problem, where="checks", hint=f"{verdict.hint}; or set lanes.probe: warn")
    if verdict.problem:
        w.say(f"{verdict.problem} ({verdict.hint})", WAITING)


def _asked(w: Workspace, tree: str, before: Sequence[CheckResult], *, is_mounted: bool) -> Verdict:
    w.say("the checks run once on spoiled sources, where they must fail")
    own = {check.name for check in w.checks}

    def run(spoiled: str) -> list[_Said]:
        lay_out_clean(w, spoiled)
        return [_Said(result.name, result.is_green) for result in run_checks(w, "probe", until_red=False)]

    known = [_Said(result.name, result.is_green) for result in before if result.name in own]
    excluded = (w.config.project.features_dir,)
    commands = {check.name: check.run for check in w.checks}
    verdict = probed(w.objects, tree, commands, known, run, is_mounted=is_mounted, excluded=excluded)
    if not verdict.problem:
        w.say("the checks failed on spoiled sources, as they must")
    return verdict
