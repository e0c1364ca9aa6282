"""The repository's own pre-commit hook, run before the checks, on the candidate as a commit would have it.

It sees an index that holds the candidate, without control files. What it changes becomes part of the candidate.
Formatters change files and then often end with an error, so a hook that changed something runs once more.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from ralphy.config.values import Check
from ralphy.engine.lane_use.checks import CheckResult, run_as_agent, unless_killed
from ralphy.engine.lane_use.lane_layout import lay_out_clean
from ralphy.engine.lane_use.open_lanes import clean_lane
from ralphy.engine.lane_use.take_over import Candidate, taken_from
from ralphy.engine.workspace.environment import check_environment
from ralphy.engine.workspace.pre_commit_hook import NAME, hook_of
from ralphy.engine.workspace.workspace import Workspace

_HOOK = "hook run --ignore-missing pre-commit"


@dataclass(frozen=True, slots=True)
class Hooked:
    """The candidate as the hook left it, and the hook's result; no result without a hook."""

    candidate: Candidate
    results: Sequence[CheckResult] = ()
    warnings: Sequence[str] = ()


def run_hook(w: Workspace, candidate: Candidate) -> Hooked:
    """Run the hook on a candidate, if there is one."""
    hook = hook_of(w)
    if hook is None:
        return Hooked(candidate)
    own = f"{os.path.relpath(hook.parent, w.repository.root)}/"
    warnings = ["the pre-commit hook itself was changed"] if any(p.startswith(own) for p in candidate.files) else []
    result = _result_on(w, candidate.tree)
    after = taken_from(w, clean_lane(w), candidate)
    if after.tree != candidate.tree and not after.refused:
        w.say(f"the {NAME} hook changed files: they are part of what is checked")
        if not result.is_green:
            result = _result_on(w, after.tree)
            last = taken_from(w, clean_lane(w), after)
            if last.tree != after.tree:
                result = CheckResult(NAME, 1, result.seconds, result.output, why="changes files each time it runs")
            after = last
    w.emit(result.event("hook"))
    return Hooked(after, (result,), warnings)


def ask_before_work(w: Workspace, head: str) -> list[CheckResult]:
    """The hook's result on the code as it is, for the baseline; what it changes is discarded."""
    if hook_of(w) is None:
        return []
    result = _run_on(w, w.objects.tree_of(head))
    w.emit(result.event("hook"))
    return [result]


def _result_on(w: Workspace, tree: str) -> CheckResult:
    return unless_killed(w, lambda: [_run_on(w, tree)])[0]


def _run_on(w: Workspace, tree: str) -> CheckResult:
    """Run the hook in the clean lane, whose index holds what was laid out there."""
    lay_out_clean(w, tree)
    env = {**check_environment(w, f"hook-{tree[:12]}"), "GIT_EDITOR": ":"}
    return run_as_agent(w, Check(NAME, f"git {_where(w)}{_HOOK}", w.config.git.hook_timeout_s), env)


def _where(w: Workspace) -> str:
    """The option that tells Git in the lane where the person's hooks are: in the tree, or bound to where Git looks."""
    folder, lane = w.checkout.hooks_folder, clean_lane(w)
    if folder.is_relative_to(w.repository.root) and not folder.is_relative_to(w.repository.common_dir):
        return f"-c core.hooksPath={shlex.quote(str(folder.relative_to(w.repository.root)))} "
    return "" if lane.is_mounted else f"-c core.hooksPath={shlex.quote(str(folder))} "
