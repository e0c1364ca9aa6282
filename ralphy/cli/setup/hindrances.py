"""What a repository has set up that hurts in the middle of a night: found before it, each with what to do.

A look says what it found, or nothing. It reads; it runs no program of the repository's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from ralphy.cli.setup.ground import Finding, Ground, State, ok
from ralphy.config.values import Config
from ralphy.engine.workspace.checkout import Checkout
from ralphy.engine.workspace.workspace import base_branch
from ralphy.errors import RalphyError
from ralphy.files.tree_walk import walk
from ralphy.forge.call import call
from ralphy.forge.push import remote
from ralphy.git import commands as git
from ralphy.processes import program_paths
from ralphy.text.first_few import first_few

_Found = tuple[str, str] | None  # what was found, and what to do
_ANSWER_S = 10.0
_MOST_FILES = 50_000
_SUBJECT = "feat(login): US-003 Sign in with a password"
_COMMITLINT = (":(top,glob)commitlint.config.*", ":(top,glob).commitlintrc*", ":(top,glob).gitlint")
_SCOPES = re.compile(r"^x-oauth-scopes:(.*)$", re.I | re.M)


def hindrances(ground: Ground) -> Iterator[Finding]:
    """A finding for each that is there; one that says that none is."""
    found = []
    for name, state, look in _LOOKS:
        with suppress(RalphyError, OSError):  # a repository that cannot be read is told of elsewhere
            if answer := look(ground, ground.config or Config()):
                found.append(Finding(name, state, *answer))
    yield from found or [ok("hindrances", "no ignore rule, hook, checkout or owner stands in the way")]


def _branch(g: Ground, config: Config) -> _Found:
    prefix = config.git.branch_prefix
    name = git.branch_in_the_way(g.repository, f"{prefix}doctor") if "/" in prefix else ""
    return (f"the branch {name} leaves no room for {prefix}NAME", f"git branch -m {name} NEW") if name else None


def _ignored(g: Ground, config: Config) -> _Found:
    at = f"{config.project.features_dir}/a-feature/prd.json"
    try:
        rule = g.repository.text("check-ignore", "-v", "--", at).partition("\t")[0]
    except git.GitError:  # nothing ignores it
        return None
    return f"{config.project.features_dir}/ is ignored by Git: {rule}", "remove that rule: features are committed"


def _commit_message(g: Ground, _: Config) -> _Found:
    """Ralphy runs no commit-msg hook; a rule for messages is met, or not, when the branch is pushed or merged."""
    hook = _hooks(g) / "commit-msg"
    rules = g.repository.text("ls-files", "--", *_COMMITLINT).split("\n")[0] or (str(hook) if hook.is_file() else "")
    if not rules:
        return None
    return (f"{rules} has rules for commit messages; Ralphy runs no commit-msg hook",
            f"see that they accept: {_SUBJECT}")  # fmt: skip


def _hooks_gone(g: Ground, config: Config) -> _Found:
    folder = _hooks(g)
    dead = sorted(path.name for path in folder.glob("*") if path.is_symlink() and not path.exists())
    is_there = folder.is_dir() or folder == g.repository.common_dir / "hooks"
    if config.git.hooks == "skip" or not (dead or not is_there):
        return None
    what = f"has links to nothing: {', '.join(dead)}" if dead else "is not there: no hook runs"
    return f"the folder of hooks {folder} {what}", "install them again (npm install, husky, pre-commit install)"


def _sparse(g: Ground, config: Config) -> _Found:
    if g.repository.text("config", "--type=bool", "--default=false", "--get", "core.sparseCheckout") != "true":
        return None
    return ("a sparse checkout: lanes have all files, and the checkout shows what you chose",
            f"git sparse-checkout add {config.project.features_dir}")  # fmt: skip


def _untracked(g: Ground, _: Config) -> _Found:
    if g.repository.text("config", "--default=normal", "--get", "status.showUntrackedFiles") not in ("no", "false"):
        return None
    return ("status.showUntrackedFiles is no: `git status` hides a new PRD.md",
            "git config status.showUntrackedFiles normal")  # fmt: skip


def _base_behind(g: Ground, config: Config) -> _Found:
    base = base_branch(g.repository, config)
    here, there = (git.resolve(g.repository, f"refs/{place}/{base}") for place in ("heads", "remotes/origin"))
    number = g.repository.text("rev-list", "--count", f"{here}..{there}") if base and here and there else "0"
    if number == "0":
        return None
    how = "git pull --ff-only" if git.head_of(g.repository)[0] == base else f"git fetch origin {base}:{base}"
    return f"{base} lacks {number} of the commits of origin/{base}, and a new feature begins at it", how


def _owners(g: Ground, _: Config) -> _Found:
    """Files of another user (root, after a sudo), which Ralphy could not replace."""
    root, owner = g.repository.root, g.repository.root.stat().st_uid
    foreign = [found.path for found in islice(walk(root), _MOST_FILES) if found.stat.st_uid != owner]
    if not foreign:
        return None
    return f"of another user than the checkout: {first_few(sorted(foreign), 3)}", f"sudo chown -R $(id -un) {root}"


def _large_files(g: Ground, _: Config) -> _Found:
    paths = [os.fsdecode(path) for path in g.repository.run("ls-files", "-z", "--", ":(attr:filter=lfs)").split(b"\0")]
    if paths == [""] or program_paths.find("git-lfs", g.repository.env):
        return None
    return (f"in Git LFS, and git-lfs is not on PATH: {first_few([path for path in paths if path], 3)}",
            "install git-lfs, then: git lfs install && git lfs pull")  # fmt: skip


def _workflow_scope(g: Ground, _: Config) -> _Found:
    """GitHub refuses a push that changes workflows, by https with a token that lacks the scope."""
    workflows, target = g.repository.root / ".github" / "workflows", remote(g.repository.root, env=g.repository.env)
    if not (workflows.is_dir() and target.host and target.url.startswith("https:")):
        return None
    gh = program_paths.find(program_paths.GH, g.repository.env)
    if gh is None:
        return None
    asked = (gh, "api", "--include", "/", "--hostname", target.host)
    scopes = _SCOPES.search(call(asked, cwd=g.repository.root, env=g.repository.env, timeout_s=_ANSWER_S).out)
    if scopes is None or not scopes[1].strip() or "workflow" in scopes[1]:
        return None
    return ("gh's token lacks the scope workflow: a push that changes .github/workflows is refused",
            f"gh auth refresh --hostname {target.host} --scopes workflow")  # fmt: skip


def _hooks(g: Ground) -> Path:
    return Checkout.of(g.repository).hooks_folder


_LOOKS: tuple[tuple[str, State, Callable[[Ground, Config], _Found]], ...] = (
    ("branches", State.FAIL, _branch),
    ("ignored", State.FAIL, _ignored),
    ("messages", State.WARN, _commit_message),
    ("hooks", State.WARN, _hooks_gone),
    ("sparse", State.WARN, _sparse),
    ("untracked", State.WARN, _untracked),
    ("base", State.WARN, _base_behind),
    ("owners", State.WARN, _owners),
    ("lfs", State.WARN, _large_files),
    ("workflows", State.WARN, _workflow_scope),
)
