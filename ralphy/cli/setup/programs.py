"""doctor: the programs that a night needs (git, make, the agent, gh, this command), and their settings."""

from __future__ import annotations

import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path

from ralphy.agents.claude.versions import INSTALL, NAMES, why_untested
from ralphy.agents.preset import INSTALL as INSTALL_PROGRAM
from ralphy.agents.presets import preset_of
from ralphy.cli.setup.checks import checks_known, workspace_of
from ralphy.cli.setup.findings import DoctorCheck, DoctorFinding, Health, Place, fail, warn
from ralphy.config.values import MINIMAL, STRICT
from ralphy.detect.stack import detect
from ralphy.engine.lane_use.open_lanes import require_agent_starts
from ralphy.engine.workspace.safety_level import AS_YOU
from ralphy.errors import RalphyError
from ralphy.files.read import open_regular
from ralphy.forge.call import call, redacted_line
from ralphy.forge.github import GitHub
from ralphy.forge.push import remote, try_push
from ralphy.git.commands import NOBODY, head_of, identity_of, require_commit
from ralphy.git.signing import format_of, require_signer, signs_commits
from ralphy.pipeline.acceptance import SEALED
from ralphy.processes.program_paths import GH, GIT, find, lies_in, own_environment
from ralphy.sandbox.bubblewrap import find as find_bwrap
from ralphy.sandbox.bubblewrap import program_at, why_not
from ralphy.sandbox.syscall_filter import is_filtered
from ralphy.scaffold.writer import apply, plan, stale_schemas, write_schemas
from ralphy.text.rehearsed import FREE_TRY

LEAST_GIT = (2, 36)  # core.fsync came with it
_ANSWER_S = 10.0


def programs(env: Mapping[str, str], root: str) -> Iterator[tuple[str, DoctorFinding]]:
    """The findings that need no repository; `root` is the checkout around the folder, "" for none."""
    yield "python", DoctorFinding(f"{sys.version.split()[0]} ({sys.executable})")
    yield "git", _git(env, root)
    yield "make", _make(env)
    yield "ralphy", _own_command(env)


def _answer(argv: tuple[str, ...], cwd: Path, env: Mapping[str, str]) -> tuple[int, str]:
    """(exit code, first line) of a program; 124 and a message after a time-out."""
    try:
        answer = call(argv, cwd=cwd, env=env, timeout_s=_ANSWER_S)
    except RalphyError as error:
        return 127, str(error)
    if answer.timed_out:
        return 124, f"no answer within {_ANSWER_S:.0f} s"
    text = (answer.out.strip() or answer.err.strip()).split("\n", 1)[0]
    return answer.returncode, redacted_line(text, env)


def _git(env: Mapping[str, str], root: str) -> DoctorFinding:
    path = find(GIT, env, root)
    if path is None:
        return fail("git is not on PATH", "install git")
    code, text = _answer((path, "--version"), Path("/"), env)
    match = re.search(r"(\d+)\.(\d+)", text)
    if code or not match:
        return fail(f"git --version: {text}", "install git again")
    if (int(match[1]), int(match[2])) < LEAST_GIT:
        return fail(f"{text} is too old", f"install git {'.'.join(map(str, LEAST_GIT))} or later")
    return DoctorFinding(text)


def _make(env: Mapping[str, str]) -> DoctorFinding:
    if path := shutil.which("make", path=env.get("PATH")):
        return DoctorFinding(path)
    return warn("make is not on PATH: use `ralphy loop` instead of `make loop`", "install GNU make")


def _own_command(env: Mapping[str, str]) -> DoctorFinding:
    """Is this the `ralphy` that make and scripts find? Another tool has a command of that name."""
    scripts = Path(sysconfig.get_path("scripts"))
    first = shutil.which("ralphy", path=env.get("PATH"))
    fix = f'export PATH="{scripts}:$PATH"'
    if first is None:
        return warn("not on PATH: `make loop` will not find it", fix)
    if (scripts / "ralphy").exists() and Path(first).samefile(scripts / "ralphy"):
        return DoctorFinding(first)
    with open_regular(first) as script:
        is_ours = b"ralphy.__main__" in script.read(4096)
    what = "another installation of Ralphy" if is_ours else "another tool called `ralphy`"
    return warn(f"{what} is first on PATH: {first}", fix)


def _repository(place: Place) -> DoctorFinding:
    require_commit(place.repository)
    return DoctorFinding(str(place.repository.root))


def _set_up(place: Place) -> DoctorFinding:
    """Whether the repository is set up, with this version's schemas for editors."""
    root = place.repository.root
    if not (root / ".ralphy" / "config.yaml").exists():
        problem = "no .ralphy/config.yaml: defaults and detected checks are used"
        return DoctorFinding(problem, "ralphy init", Health.WARN, lambda: "; ".join(_initialised(place)))
    if stale := stale_schemas(root):
        problem = f"of another version of Ralphy: {', '.join(stale)}"
        return DoctorFinding(problem, "ralphy doctor --fix", Health.WARN, lambda: "; ".join(write_schemas(root)))
    return DoctorFinding(".ralphy/config.yaml is there")


def _initialised(place: Place) -> list[str]:
    root, config = place.repository.root, place.config
    return apply(plan(root, detect(root, prefer=config.stack.language), config.project.features_dir))


def _identity(place: Place) -> DoctorFinding:
    who = identity_of(place.repository)
    if who == NOBODY:
        fix = 'git config --global user.name "Your Name"; git config --global user.email you@example.org'
        return warn(f"git has no user name or email: commits would be by {NOBODY}", fix)
    return DoctorFinding(who)


def _signing(place: Place) -> DoctorFinding:
    """Are commits signed, and can they be signed unattended?"""
    if not signs_commits(place.repository):
        return DoctorFinding("commit.gpgsign is off: commits are not signed")
    if place.config.git.sign == "off":
        return warn("commit.gpgsign is on, but Ralphy's commits are not signed: git.sign is off",
                    "ralphy config set git.sign auto")  # fmt: skip
    require_signer(place.repository, identity_of(place.repository))
    return DoctorFinding(f"commits are signed ({format_of(place.repository)})")


def _agent(place: Place) -> DoctorFinding:
    program = place.config.agent.command[0]
    path = program_at(program, place.repository.root, place.env)
    if path is None:
        chosen = preset_of(place.config.agent.preset)
        fix = chosen.install if program == chosen.command[0] else INSTALL_PROGRAM
        return fail(f"{program} is not on PATH", f"{fix}; or try it free: {FREE_TRY}")
    if own := _in_the_checkout(place, path):
        return DoctorFinding(f"{path}: not started, because {own} is in the repository")
    code, text = _answer((*place.config.agent.command, "--version"), Path("/"), _outside(place))
    if code:
        return fail(f"{program} --version: {text or f'exit {code}'}", f"fix or reinstall {path}")
    is_claude = text.endswith("(Claude Code)")
    if os.geteuid() == 0 and place.env.get("IS_SANDBOX") != "1" and is_claude:
        return fail("claude refuses to work unattended as root", "run as a user, or in a container of its own: export "
                    "IS_SANDBOX=1")  # fmt: skip
    if why := why_untested(text):
        return warn(f"{why} ({path})", f"if a run misbehaves: {INSTALL}")
    return DoctorFinding(f"{text} ({path}){f'; tested with {NAMES}' if is_claude else ''}")


def _login(place: Place) -> DoctorFinding | None:
    """Is the agent's program logged in? It answers without a prompt and without cost."""
    own = preset_of(place.config.agent.preset)
    path = program_at(own.command[0], place.repository.root, place.env) if own.asks_login else None
    if place.config.agent.command != own.command or not path or _in_the_checkout(place, path):
        return None
    if key := next((name for name in own.keys if place.env.get(name)), ""):
        return DoctorFinding(f"by {key}")
    code, text = _answer((str(path), *own.asks_login), Path("/"), _outside(place))
    if code == 0:
        return DoctorFinding("logged in")
    why = "not logged in" if text.startswith("{") else text or f"exit {code}"  # the answer is a record of its login
    asked = " ".join((own.command[0], *own.asks_login))
    return warn(f"{asked}: {why}", f"run {own.command[0]} once and log in; or {own.login}")


def _outside(place: Place) -> dict[str, str]:
    """The environment for the agent's program: it loads nothing from the checkout."""
    return own_environment(place.env, str(place.repository.root))


def _in_the_checkout(place: Place, program: Path) -> str:
    """The word of the agent's command that names a file of the checkout, which agents can write; "" for none."""
    root = place.repository.root
    words = ((str(program), program), *((word, root / word) for word in place.config.agent.command[1:]))
    return next((word for word, path in words if path.exists() and lies_in(str(path), str(root))), "")


def _sandbox(place: Place) -> DoctorFinding:
    """The sandbox around the agent; a missing one fails only if the settings demand it. strict is started as a loop
    would."""
    if place.config.safety.level == STRICT:
        with workspace_of(place) as (w, _):
            require_agent_starts(w)
        return DoctorFinding(f"strict: the agent starts in a closed bubblewrap sandbox{_unfiltered()}")
    finding = _open_sandbox(place)
    if finding.health is Health.WARN and place.config.acceptance.tests == SEALED:
        return fail(f"{finding.message}; acceptance.tests: sealed needs a sandbox", finding.fix)
    return finding


def _open_sandbox(place: Place) -> DoctorFinding:
    safety = place.config.safety
    if safety.level == MINIMAL:
        return warn("safety.level is minimal: no sandbox", "set safety.level: moderate")
    if safety.sandbox == "none":
        return warn(f"safety.sandbox is none: {AS_YOU}", "set it to auto")
    program = find_bwrap(place.env, place.repository.root)
    why, fix = why_not(program)
    if not why:
        return DoctorFinding(f"{safety.level}: {program}{_unfiltered()}")
    return fail(why, fix) if safety.sandbox == "bwrap" else warn(f"{why}: {AS_YOU}", fix)


def _unfiltered() -> str:
    """A remark if system calls are not filtered on this machine; "" if they are."""
    machine = os.uname().machine
    return "" if is_filtered(machine) else f", without a system call filter (none for {machine})"


def _remote(place: Place) -> DoctorFinding:
    if not place.repository.text("remote"):
        return warn("none: the result will be the branch and PR.md", "git remote add origin URL (optional)")
    root, env = place.repository.root, place.repository.env
    target = remote(root, env=env)
    if has_commit := bool(head_of(place.repository)):
        try_push(root, target, f"{place.config.git.branch_prefix}doctor", env=env, timeout_s=_ANSWER_S)
    return DoctorFinding(
        f"{target.name}: {redacted_line(target.url, place.env)}{', push allowed' if has_commit else ''}"
    )


def _pull_requests(place: Place) -> DoctorFinding:
    env = place.repository.env
    try:
        target = remote(place.repository.root, env=env)
    except RalphyError:
        return DoctorFinding("not needed without a remote")
    if not target.slug:
        return DoctorFinding("not needed: the remote is not on GitHub; Ralphy pushes the branch and writes PR.md")
    why_not = GitHub(target, env, timeout_s=_ANSWER_S).available()
    if why_not is None:
        return DoctorFinding(f"logged in to {target.host}")
    login = f"gh auth login --hostname {target.host}"
    return warn(f"cannot open pull requests: {why_not}",
                login if find(GH, env) else "install gh (https://cli.github.com)")  # fmt: skip


CHECKS = (
    DoctorCheck("repository", _repository),
    DoctorCheck("set up", _set_up),
    DoctorCheck("identity", _identity),
    DoctorCheck("signing", _signing),
    DoctorCheck("agent", _agent, needs_settings=True),
    DoctorCheck("login", _login),
    DoctorCheck("sandbox", _sandbox, fix="set safety.level: moderate", needs_settings=True),
    DoctorCheck("checks", checks_known, fix="name them under checks: in .ralphy/config.yaml", needs_settings=True),
    DoctorCheck("remote", _remote, on_error=Health.WARN),
    DoctorCheck("gh", _pull_requests),
)
