"""The programs that a night needs: git, make, the agent, gh, this command itself, and what they are told."""

from __future__ import annotations

import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from ralphy.agents.claude.versions import INSTALL, NAMES, why_untested
from ralphy.agents.preset import INSTALL as INSTALL_PROGRAM
from ralphy.agents.presets import preset_of
from ralphy.cli.setup.ground import Finding, Ground, State, fail, ok, warn
from ralphy.cli.setup.init import planned
from ralphy.config.load import with_stack
from ralphy.config.values import Config
from ralphy.detect.stack import detect, example_check
from ralphy.engine.lane_use.strict import require_agent_starts
from ralphy.engine.verify.startable import missing, without_feature
from ralphy.engine.workspace.safety_level import AS_YOU
from ralphy.errors import EnvironmentProblem, RalphyError
from ralphy.files.safe_open import read_safely
from ralphy.forge.call import call, said
from ralphy.forge.github import GitHub
from ralphy.forge.push import remote, try_push
from ralphy.git.commands import NOBODY, head_of, identity_of
from ralphy.git.signing import format_of, require_signer, signs_commits
from ralphy.pipeline.acceptance import SEALED
from ralphy.processes.program_paths import GIT, find, lies_in, own_environment
from ralphy.sandbox.bubblewrap import bare_sandbox, program_at, why_not, why_not_found
from ralphy.sandbox.bubblewrap import find as find_bwrap
from ralphy.sandbox.syscall_filter import is_filtered
from ralphy.scaffold.config_template import check_line
from ralphy.scaffold.writer import apply, stale_schemas, write_schemas
from ralphy.text.rehearsed import FREE_TRY

if TYPE_CHECKING:
    from ralphy.engine.workspace.workspace import Workspace

LEAST_GIT = (2, 36)  # core.fsync came with it
_ANSWER_S = 10.0


def programs(env: Mapping[str, str], root: str) -> Iterator[Finding]:
    """What can be said without a repository; `root` is the checkout around, "" for none."""
    yield _python()
    yield _git(env, root)
    yield _make(env)
    yield _own_command(env)


def project(ground: Ground) -> Iterator[Finding]:
    """What is to be said of a repository: who commits, who works, what is checked, where it goes."""
    for look in (_set_up, _identity, _signing, _agent, _login, _variables, _sandbox, _checks, _remote, _pull_requests):
        yield look(ground)


def _answer(argv: tuple[str, ...], cwd: Path, env: Mapping[str, str]) -> tuple[int, str]:
    """(exit code, first line) of a program; 124 and a sentence when it does not answer in time."""
    try:
        answer = call(argv, cwd=cwd, env=env, timeout_s=_ANSWER_S)
    except RalphyError as error:
        return 127, str(error)
    if answer.timed_out:
        return 124, f"no answer within {_ANSWER_S:.0f} s"
    text = (answer.out.strip() or answer.err.strip()).split("\n", 1)[0]
    return answer.returncode, said(text, env)


def _python() -> Finding:
    return ok("python", f"{sys.version.split()[0]} ({sys.executable})")


def _git(env: Mapping[str, str], root: str) -> Finding:
    path = find(GIT, env, root)
    if path is None:
        return fail("git", "git is not on PATH", "install git")
    code, text = _answer((path, "--version"), Path("/"), env)
    found = re.search(r"(\d+)\.(\d+)", text)
    if code or not found:
        return fail("git", f"git --version: {text}", "install git again")
    is_old = (int(found[1]), int(found[2])) < LEAST_GIT
    least = ".".join(map(str, LEAST_GIT))
    return fail("git", f"{text} is too old", f"install git {least} or later") if is_old else ok("git", text)


def _make(env: Mapping[str, str]) -> Finding:
    path = shutil.which("make", path=env.get("PATH"))
    if path:
        return ok("make", path)
    return warn("make", "make is not on PATH: use `ralphy loop` instead of `make loop`", "install GNU make")


def _own_command(env: Mapping[str, str]) -> Finding:
    """Is the `ralphy` that make and scripts find this one? Another tool has a command of that name."""
    scripts = Path(sysconfig.get_path("scripts"))
    first = shutil.which("ralphy", path=env.get("PATH"))
    fix = f'export PATH="{scripts}:$PATH"'
    if first is None:
        return warn("ralphy", "not on PATH: `make loop` will not find it", fix)
    if (scripts / "ralphy").exists() and Path(first).samefile(scripts / "ralphy"):
        return ok("ralphy", first)
    is_ours = b"ralphy.__main__" in read_safely(first, 4096)
    what = "another installation of Ralphy" if is_ours else "another tool called `ralphy`"
    return warn("ralphy", f"{what} is first on PATH: {first}", fix)


def _set_up(g: Ground) -> Finding:
    """Is the repository set up, with this version's schemas for editors?"""
    root = g.repository.root
    if not (root / ".ralphy" / "config.yaml").exists():
        said = "no .ralphy/config.yaml: defaults and detected checks are used"
        return Finding("set up", State.WARN, said, "ralphy init", lambda: "; ".join(_initialised(g)))
    if stale := stale_schemas(root):
        said = f"of another version of Ralphy: {', '.join(stale)}"
        return Finding("set up", State.WARN, said, "ralphy doctor --fix", lambda: "; ".join(write_schemas(root)))
    return ok("set up", ".ralphy/config.yaml is there")


def _initialised(g: Ground) -> list[str]:
    config = g.config or Config()
    return apply(planned(g.repository.root, config, detect(g.repository.root, prefer=config.stack.language)))


def _identity(g: Ground) -> Finding:
    who = identity_of(g.repository)
    if who == NOBODY:
        fix = 'git config --global user.name "Your Name"; git config --global user.email you@example.org'
        return warn("identity", f"git has no user name or email: commits would be by {NOBODY}", fix)
    return ok("identity", who)


def _signing(g: Ground) -> Finding:
    """Are commits signed, and can they be while nobody is there?"""
    try:
        if not signs_commits(g.repository):
            return ok("signing", "commit.gpgsign is off: commits are not signed")
        if g.config and g.config.git.sign == "off":
            return warn("signing", "commit.gpgsign is on, but Ralphy's commits are not signed: git.sign is off",
                        "ralphy config set git.sign auto")  # fmt: skip
        require_signer(g.repository, identity_of(g.repository))
    except EnvironmentProblem as error:
        return fail("signing", str(error), error.hint)
    return ok("signing", f"commits are signed ({format_of(g.repository)})")


def _agent(g: Ground) -> Finding:
    if g.config is None:
        return fail("agent", "skipped: cannot read the settings", "ralphy validate")
    program = g.config.agent.command[0]
    path = program_at(program, g.repository.root, g.env)
    if path is None:
        chosen = preset_of(g.config.agent.preset)
        fix = chosen.install if program == chosen.command[0] else INSTALL_PROGRAM
        return fail("agent", f"{program} is not on PATH", f"{fix}; or try it free: {FREE_TRY}")
    if own := _in_the_checkout(g, path):
        return ok("agent", f"{path}: not started, because {own} is in the repository")
    code, text = _answer((*g.config.agent.command, "--version"), Path("/"), _outside(g))
    if code:
        return fail("agent", f"{program} --version: {text or f'exit {code}'}", f"fix or reinstall {path}")
    if os.geteuid() == 0 and g.env.get("IS_SANDBOX") != "1" and text.endswith("(Claude Code)"):
        return fail("agent", "claude refuses to work unattended as root", "run as a user, or in a container of its "
                     "own: export IS_SANDBOX=1")  # fmt: skip
    if why := why_untested(text):
        return warn("agent", f"{why} ({path})", f"if a run misbehaves: {INSTALL}")
    tested = f"; tested with {NAMES}" if text.endswith("(Claude Code)") else ""
    return ok("agent", f"{text} ({path}){tested}")


def _login(g: Ground) -> Finding:
    """Does the agent's program say that it is logged in? It asks nobody, and costs nothing."""
    own = preset_of(g.config.agent.preset) if g.config else None
    path = program_at(own.command[0], g.repository.root, g.env) if own and own.asks_login else None
    if not own or not g.config or g.config.agent.command != own.command or not path or _in_the_checkout(g, path):
        return ok("login", "not checked")
    if key := next((name for name in own.keys if g.env.get(name)), ""):
        return ok("login", f"by {key}")
    code, text = _answer((str(path), *own.asks_login), Path("/"), _outside(g))
    if code == 0:
        return ok("login", "logged in")
    why = "not logged in" if text.startswith("{") else text or f"exit {code}"  # the answer is a record of its login
    asked = " ".join((own.command[0], *own.asks_login))
    return warn("login", f"{asked}: {why}", f"run {own.command[0]} once and log in; or {own.login}")


def _outside(g: Ground) -> dict[str, str]:
    """The environment in which the agent's program starts here: it loads nothing that lies in the checkout."""
    return own_environment(g.env, str(g.repository.root))


def _in_the_checkout(g: Ground, program: Path) -> str:
    """The word of the agent's command that names a file of the repository, which an agent may have written; or ""."""
    assert g.config is not None
    root = g.repository.root
    words = ((str(program), program), *((word, root / word) for word in g.config.agent.command[1:]))
    return next((word for word, path in words if path.exists() and lies_in(str(path), str(root))), "")


def _variables(g: Ground) -> Finding:
    """Variables that steer the agent's program by hand, and that no unattended run gets."""
    own = preset_of(g.config.agent.preset if g.config else "").variables
    names = own.held_back((name for name, value in g.env.items() if value), g.config.agent.env if g.config else ())
    if not names:
        return ok("variables", "agents get every variable set for them")
    said = f"set, but not passed on to agents: {', '.join(names)}"
    return warn("variables", said, f"if agents need it, add it to agent.env: [{names[0]}]")


def _sandbox(g: Ground) -> Finding:
    """What stands around the agent; its absence is a fault only where it is asked for."""
    found = _walls(g)
    if found.state is State.WARN and g.config and g.config.acceptance.tests == SEALED:
        return fail("sandbox", f"{found.said}; acceptance.tests: sealed needs a sandbox", found.fix)
    return found


def _walls(g: Ground) -> Finding:
    if g.config is None:
        return fail("sandbox", "skipped: cannot read the settings", "ralphy validate")
    safety = g.config.safety
    if safety.level == "strict":
        return _closed_walls(g)
    if safety.level == "minimal":
        return warn("sandbox", "safety.level is minimal: no sandbox", "set safety.level: moderate")
    if safety.sandbox == "none":
        return warn("sandbox", f"safety.sandbox is none: {AS_YOU}", "set it to auto")
    program = find_bwrap(g.env, g.repository.root)
    why, fix = why_not(bare_sandbox(program)) if program else why_not_found()
    if not why:
        return ok("sandbox", f"{safety.level}: {program}{_unfiltered()}")
    if safety.sandbox == "bwrap":
        return fail("sandbox", why, fix)
    return warn("sandbox", f"{why}: {AS_YOU}", fix)


def _closed_walls(g: Ground) -> Finding:
    """The level strict, tried as a loop would put it up."""
    try:
        with workspace_of(g) as (w, _):
            require_agent_starts(w)
    except (RalphyError, OSError) as error:
        return fail("sandbox", str(error), getattr(error, "hint", "") or "set safety.level: moderate")
    return ok("sandbox", f"strict: the agent starts in a closed bubblewrap sandbox{_unfiltered()}")


def _unfiltered() -> str:
    """That system calls are not filtered on this machine; "" if they are."""
    machine = os.uname().machine
    return "" if is_filtered(machine) else f", without a system call filter (none for {machine})"


def _checks(g: Ground) -> Finding:
    """The checks, and whether their programs are there; what is only to be made yet is no fault."""
    if g.config is None:
        return fail("checks", "skipped: cannot read the settings", "ralphy validate")
    name_one = _a_line_for_checks(g)
    try:
        with workspace_of(g) as (w, _):
            checks, lacking = w.checks, list(missing(w))
    except (RalphyError, OSError) as error:
        return fail("checks", str(error), getattr(error, "hint", "") or name_one)
    if not lacking:
        said = "; ".join(f"{check.name}: {check.run}" for check in checks)
        return ok("checks", said) if said else warn("checks", "none detected: stories land unverified", name_one)
    said = "; ".join(one.why for one in lacking)
    if all(one.may_come for one in lacking):
        return warn("checks", f"{said} (yet)", "nothing, if `setup` or an earlier check creates it")
    return fail("checks", said, "install it (or run it with the project's own: .venv/bin/…), or change checks: or "
                "setup: in .ralphy/config.yaml")  # fmt: skip


def _a_line_for_checks(g: Ground) -> str:
    """What to put into the settings where no check is known, as this language would say it."""
    prefer = g.config.stack.language if g.config else ""
    example = example_check(detect(g.repository.root, prefer=prefer).language)
    return f"add a line to .ralphy/config.yaml, such as: {check_line(example)}"


def workspace_of(g: Ground) -> AbstractContextManager[tuple[Workspace, Path]]:
    """A workspace as a loop would open it, without a feature; the settings must be known."""
    assert g.config is not None
    checks = with_stack(g.config, detect(g.repository.root, prefer=g.config.stack.language).checks)
    return without_feature(g.repository, g.config, checks, g.env)


def _remote(g: Ground) -> Finding:
    if not g.repository.text("remote"):
        return warn("remote", "none: the result will be the branch and PR.md", "(optional) git remote add origin URL")
    try:
        target = remote(g.repository.root, env=g.repository.env)
        prefix = g.config.git.branch_prefix if g.config else "ralph/"
        if has_commit := bool(head_of(g.repository)[1]):
            try_push(g.repository.root, target, f"{prefix}doctor", env=g.repository.env, timeout_s=_ANSWER_S)
    except RalphyError as error:
        return warn("remote", str(error), error.hint)
    return ok("remote", f"{target.name}: {said(target.url, g.env)}{', push allowed' if has_commit else ''}")


def _pull_requests(g: Ground) -> Finding:
    try:
        target = remote(g.repository.root, env=g.repository.env)
    except RalphyError:
        return ok("gh", "not needed without a remote")
    if not target.slug:
        return ok("gh", "not needed: the remote is not on GitHub or GitLab; Ralphy pushes the branch and writes PR.md")
    why_not = GitHub(target, g.repository.env, timeout_s=_ANSWER_S).available()
    if why_not is None:
        return ok("gh", f"logged in to {target.host}")
    fix = (
        "install gh (https://cli.github.com)" if "not on PATH" in why_not else f"gh auth login --hostname {target.host}"
    )
    return warn("gh", f"cannot open pull requests: {why_not}", fix)
