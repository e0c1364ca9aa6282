"""The candidate with some files as they were, laid out in the clean lane to run a check on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ralphy.checks.listing import Listing
from ralphy.checks.runner_output import read_output
from ralphy.config.values import Check
from ralphy.engine.lane_use.candidate import Candidate
from ralphy.engine.lane_use.checks import CheckResult, bounds, command_in
from ralphy.engine.lane_use.lane_layout import clean_lane, lay_out_clean
from ralphy.engine.workspace.environment import check_environment
from ralphy.engine.workspace.reports import Reports
from ralphy.engine.workspace.subject import subject
from ralphy.engine.workspace.workspace import Workspace, repository_token
from ralphy.errors import EnvironmentProblem
from ralphy.git.objects import Entry
from ralphy.processes.supervision import capture

_MOST_FILES = 20_000
_MOST_SECONDS = 300.0
_OUTPUT_BYTES = 256 * 1024
_DEPENDENCIES = ("node_modules",)  # what Git ignores and runners look for beside the code

Told = tuple[Listing | None, str]


def run_with_old(
    w: Workspace, candidate: Candidate, check: Check, old: Mapping[str, Entry | None], words: Sequence[str],
    rewritten: Callable[[str, bytes], bytes],
) -> Told | None:  # fmt: skip
    """What these words tell of the tests, run in the copy, and what they print; None if they cannot be run there.

    `old` are the files as they were, None for one that was not there; `rewritten` says what is taken of each.
    """
    try:
        return _run(w, candidate, check, old, words, rewritten)
    except (OSError, EnvironmentProblem) as error:
        w.say(f"the old versions of edited tests could not be run: {error}")
        return None


def _run(
    w: Workspace, candidate: Candidate, check: Check, old: Mapping[str, Entry | None], words: Sequence[str],
    rewritten: Callable[[str, bytes], bytes],
) -> Told:  # fmt: skip
    """The candidate with the old files is one more tree to lay out."""
    with w.objects.together():
        files = {path: entry and replace(entry, oid=w.objects.write("blob", _text(w, path, entry, rewritten)))
                 for path, entry in old.items()}  # fmt: skip
    lay_out_clean(w, w.objects.graft(candidate.tree, files))
    with Reports(repository_token(w.repository)) as reports:
        env = reports.environment(check_environment(w, f"old-tests-{candidate.tree[:12]}"), check.name)
        seconds = min(check.timeout_s, _MOST_SECONDS)
        command = command_in(w, clean_lane(w), "checks", words, env, seconds, reports.folder)
        subject().check_runs["old_tests"] += 1
        end, data = capture(w.supervisor, command, _OUTPUT_BYTES, should_stop=bounds(w, []))
        output = data.decode("utf-8", "replace")
        w.emit(CheckResult(check.name, end.returncode, end.duration_s, output).event("old_tests"))
        return reports.read(check.name) or read_output(output), output


def _text(w: Workspace, path: str, entry: Entry, rewritten: Callable[[str, bytes], bytes]) -> bytes:
    return rewritten(path, w.objects.read(entry.oid) or b"")
