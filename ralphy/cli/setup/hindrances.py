"""doctor: what in a repository's setup would fail during a night, each with its fix.

A check reads; it runs no program of the repository's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from ralphy.cli.setup.findings import DoctorCheck, DoctorFinding, Place, fail, findings_of, warn
from ralphy.engine.workspace.checkout import Checkout
from ralphy.engine.workspace.workspace import base_branch
from ralphy.files.tree_walk import walk
from ralphy.forge.call import call
from ralphy.forge.push import remote
from ralphy.git import commands as git
from ralphy.processes import program_paths
from ralphy.text.first_few import first_few

_ANSWER_S = 10.0
_MOST_FILES = 50_000
_SUBJECT = "feat(login): US-003 Sign in with a password"
_COMMITLINT = (":(top,glob)commitlint.config.*", ":(top,glob).commitlintrc*", ":(top,glob).gitlint")
_SCOPES = re.compile(r"^x-oauth-scopes:(.*)$", re.I | re.M)


def hindrances(place: Place) -> Iterator[tuple[str, DoctorFinding]]:
    """A finding for each hindrance, or one that there is none."""
    named_findings = list(findings_of(_CHECKS, place))
    yield from named_findings or [
        ("hindrances", DoctorFinding("no ignore rule, hook, checkout or owner stands in the way"))
    ]


def _branch(place: Place) -> DoctorFinding | None:
    prefix = place.config.git.branch_prefix
    name = git.branch_in_the_way(place.repository, f"{prefix}doctor") if "/" in prefix else ""
    return fail(f"the branch {name} leaves no room for {prefix}NAME", f"git branch -m {name} NEW") if name else None


def _ignored(place: Place) -> DoctorFinding | None:
    at = f"{place.config.project.features_dir}/a-feature/prd.json"
    try:
        rule = place.repository.text("check-ignore", "-v", "--", at).partition("\t")[0]
    except git.GitError:  # nothing ignores it
        return None
    return fail(f"{place.config.project.features_dir}/ is ignored by Git: {rule}",
                "remove that rule: features are committed")  # fmt: skip


def _commit_message(place: Place) -> DoctorFinding | None:
    """Ralphy runs no commit-msg hook; rules for messages apply when the branch is pushed or merged."""
    hook = _hooks(place) / "commit-msg"
    rules = place.repository.text("ls-files", "--", *_COMMITLINT).split("\n")[0] or (
        str(hook) if hook.is_file() else ""
    )
    if not rules:
        return None
    return warn(f"{rules} has rules for commit messages; Ralphy runs no commit-msg hook",
                f"see that they accept: {_SUBJECT}")  # fmt: skip


def _hooks_gone(place: Place) -> DoctorFinding | None:
    folder = _hooks(place)
    dead = sorted(path.name for path in folder.glob("*") if path.is_symlink() and not path.exists())
    is_there = folder.is_dir() or folder == place.repository.common_dir / "hooks"
    if place.config.git.hooks == "skip" or not (dead or not is_there):
        return None
    what = f"has links to nothing: {', '.join(dead)}" if dead else "is not there: no hook runs"
    return warn(f"the folder of hooks {folder} {what}", "install them again (npm install, husky, pre-commit install)")


def _sparse(place: Place) -> DoctorFinding | None:
    if place.repository.text("config", "--type=bool", "--default=false", "--get", "core.sparseCheckout") != "true":
        return None
    return warn("a sparse checkout: lanes have all files, and the checkout shows what you chose",
                f"git sparse-checkout add {place.config.project.features_dir}")  # fmt: skip


def _base_behind(place: Place) -> DoctorFinding | None:
    base = base_branch(place.repository, place.config)
    here, there = (git.resolve(place.repository, f"refs/{where}/{base}") for where in ("heads", "remotes/origin"))
    number = place.repository.text("rev-list", "--count", f"{here}..{there}") if base and here and there else "0"
    if number == "0":
        return None
    how = "git pull --ff-only" if git.current_branch(place.repository) == base else f"git fetch origin {base}:{base}"
    return warn(f"{base} lacks {number} of the commits of origin/{base}, and a new feature begins at it", how)


def _owners(place: Place) -> DoctorFinding | None:
    """Files of another user (root, after a sudo), which Ralphy could not replace."""
    root, owner = place.repository.root, place.repository.root.stat().st_uid
    foreign = [entry.path for entry in islice(walk(root), _MOST_FILES) if entry.stat.st_uid != owner]
    if not foreign:
        return None
    return warn(f"of another user than the checkout: {first_few(sorted(foreign), 3)}",
                f"sudo chown -R $(id -un) {root}")  # fmt: skip


def _large_files(place: Place) -> DoctorFinding | None:
    paths = [
        os.fsdecode(path) for path in place.repository.run("ls-files", "-z", "--", ":(attr:filter=lfs)").split(b"\0")
    ]
    if paths == [""] or program_paths.find("git-lfs", place.repository.env):
        return None
    return warn(f"in Git LFS, and git-lfs is not on PATH: {first_few([path for path in paths if path], 3)}",
                "install git-lfs, then: git lfs install && git lfs pull")  # fmt: skip


def _workflow_scope(place: Place) -> DoctorFinding | None:
    """GitHub refuses a push that changes workflows, by https with a token that lacks the scope."""
    workflows, target = (
        place.repository.root / ".github" / "workflows",
        remote(place.repository.root, env=place.repository.env),
    )
    if not (workflows.is_dir() and target.host and target.url.startswith("https:")):
        return None
    gh = program_paths.find(program_paths.GH, place.repository.env)
    if gh is None:
        return None
    asked = (gh, "api", "--include", "/", "--hostname", target.host)
    scopes = _SCOPES.search(call(asked, cwd=place.repository.root, env=place.repository.env, timeout_s=_ANSWER_S).out)
    if scopes is None or not scopes[1].strip() or "workflow" in scopes[1]:
        return None
    return warn("gh's token lacks the scope workflow: a push that changes .github/workflows is refused",
                f"gh auth refresh --hostname {target.host} --scopes workflow")  # fmt: skip


def _hooks(place: Place) -> Path:
    return Checkout.of(place.repository).hooks_folder


# Other checks report a repository that cannot be read.
_CHECKS = tuple(
    DoctorCheck(name, find, on_error=None)
    for name, find in (
        ("branches", _branch),
        ("ignored", _ignored),
        ("messages", _commit_message),
        ("hooks", _hooks_gone),
        ("sparse", _sparse),
        ("base", _base_behind),
        ("owners", _owners),
        ("lfs", _large_files),
        ("workflows", _workflow_scope),
    )
)
