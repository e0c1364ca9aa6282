"""Are the checks alive? Lines of the code are spoiled one at a time, and the checks must notice."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import replace

from ralphy.engine.lane_use.checks import CheckResult, argv, run_checks
from ralphy.engine.lane_use.lane_layout import lay_out_clean
from ralphy.engine.lane_use.trial import try_tree
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import EnvironmentProblem
from ralphy.git.objects import Entry
from ralphy.lanes.probe import spoiled_files
from ralphy.testguard.spoil.mutants import Mutant, mutants_of

_LEAST_TIMEOUT_S = 10.0
_SLOWER = 4  # how many times longer than before a check may take on a spoiled line: it may have made a loop endless


def noticed(w: Workspace, commit: str, seconds: float) -> Iterator[tuple[Mutant, bool]]:
    """Spoiled lines of a commit's code, and whether a check turned red on each, until the time is over.

    The lines are drawn at random, the same for the same code. Raises EnvironmentProblem if no check is green as it is.
    """
    began, tree = time.monotonic(), w.objects.tree_of(commit)
    drawn = _drawn(w, tree)
    lay_out_clean(w, tree, commit)
    green = [result for result in run_checks(w, "deep", until_red=False) if result.is_green]
    if not green:
        raise EnvironmentProblem("no check is green on the code as it is", where="checks", hint="fix them first")
    once = sum(result.seconds for result in green)
    for mutant in drawn:
        if time.monotonic() - began + once > seconds:
            return
        yield mutant, _is_noticed(w, tree, mutant, green)


def _drawn(w: Workspace, tree: str) -> list[Mutant]:
    files = {path: new for path, _, new in w.objects.changes("", tree) if new and new.mode.startswith("100")}
    code = spoiled_files(list(files), (check.run for check in w.checks), (w.config.project.features_dir,))
    found = [one for path in sorted(code) for one in mutants_of(path, w.objects.read(files[path].oid) or b"")]
    random.Random(tree).shuffle(found)  # noqa: S311 - a sample, no secret
    return found


def _is_noticed(w: Workspace, tree: str, mutant: Mutant, green: list[CheckResult]) -> bool:
    entry = w.objects.at(tree, mutant.path)
    assert entry is not None
    with w.objects.together():
        oid = w.objects.write("blob", mutant.spoiled(w.objects.read(entry.oid) or b""))
    spoiled = w.objects.graft(tree, {mutant.path: Entry(entry.mode, oid)})
    times = {result.name: max(_LEAST_TIMEOUT_S, _SLOWER * result.seconds) for result in green}
    for check in w.checks:
        if check.name in times:
            told = try_tree(w, spoiled, replace(check, timeout_s=times[check.name]), argv(check), "deep")
            if told is None or not told.is_green:
                return True
    return False
