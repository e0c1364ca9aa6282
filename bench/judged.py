"""A scratch repository opened as the loop opens it, so that its judges can be asked without an agent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench.ground import FEATURES, CannotRun
from ralphy.config import load as settings
from ralphy.documents import feature_folder
from ralphy.engine.lane_use.checks import run_checks
from ralphy.engine.lane_use.lane_layout import lay_out_clean
from ralphy.engine.lane_use.take_over import Candidate
from ralphy.engine.verify.baseline_records import record_baseline
from ralphy.engine.workspace.checkout import Checkout
from ralphy.engine.workspace.workspace import Workspace, open_workspace
from ralphy.git import commands as git
from ralphy.git.objects import Entry


@contextmanager
def opened(root: Path, feature: str, env: Mapping[str, str]) -> Iterator[Workspace]:
    found = feature_folder.find(root, FEATURES, f"{FEATURES}/{feature}", root)
    config = settings.load(root, found.folder, env=env).config
    checkout = Checkout.of(git.discover(root, env))
    with open_workspace(checkout, found, config, settings.with_stack(config, ()), env) as w:
        yield w


def ask_before(w: Workspace) -> None:
    """Run the checks on the last commit, and note what they say, as before a story."""
    green = w.objects.tree_of("HEAD")
    lay_out_clean(w, green)
    results = run_checks(w, "baseline", until_red=False)
    if red := [result for result in results if not result.is_green]:
        raise CannotRun(f"the check {red[0].name} is red: {red[0].output}")
    record_baseline(w, w.code_of(green), results)


def candidate(w: Workspace, files: Mapping[str, str | None]) -> Candidate:
    """The last commit with these files; None deletes one."""
    green = w.objects.tree_of("HEAD")
    oids = w.objects.write_blobs({path: text.encode() for path, text in files.items() if text is not None})
    tree = w.objects.graft(green, {path: Entry("100644", oids[path]) if path in oids else None for path in files})
    return Candidate(tree, w.code_of(tree), green, tuple(path for path, _, _ in w.objects.changes(green, tree)))
