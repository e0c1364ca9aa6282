"""Push a branch to its remote: never by force, never to a base branch, and verified."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from ralphy.errors import Conflict, EnvironmentProblem, InvalidInput, RalphyError
from ralphy.forge.call import CallResult, call, redacted_line
from ralphy.processes import program_paths

ALWAYS_PROTECTED = ("main", "master")
LOCAL_TIMEOUT_S = 30.0
PUSH_TIMEOUT_S = 120.0

_SCP = re.compile(r"(?:[^@/\s]+@)?(?P<host>[A-Za-z0-9._-]+):(?!//)(?P<path>\S+)$")
_URL = re.compile(r"(?:https?|ssh|git\+ssh|git)://(?:[^@/\s]+@)?(?P<host>[^/:\s]+)(?::\d+)?/(?P<path>\S+)$")
_SLUG = re.compile(r"/*(?P<owner>[A-Za-z0-9_.-]+)/(?P<name>[A-Za-z0-9_.-]+?)(?:\.git)?/*$")
_OID = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})")
_OTHER_NAMES = {"ssh.github.com": "github.com", "www.github.com": "github.com"}
_NO_ACCESS = re.compile(
    r"authentication failed|could not read (?:username|password)|permission .*denied"
    r"|prompts disabled|repository not found|returned error: 40[13]|host key verification",
    re.IGNORECASE,
)
_REJECTED = re.compile(r"^!\t[^\t]*\t\[(?P<by>remote )?rejected\] ?(?P<why>.*)$", re.MULTILINE)
# What Git says of a remote's full disk; the forge's rules (a hook, a protected branch, a size) have other messages.
_NOT_STORED = ("unpacker error", "failed to update ref", "missing necessary objects")
_OF_THE_DISK = re.compile(
    r"remote unpack failed|read-only file system|no space left|quota exceeded|input/output error|permission denied"
    r"|unable to create directory for|bad object",
    re.IGNORECASE,
)
_REMOTE = "remote:"
_OWN = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "color.ui=false", "-c",
        "color.remote=false")  # fmt: skip
_PUSH_OPTIONS = ("--porcelain", "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no")
_TOO_BIG = "exceeds maximum allowed size"


@dataclass(frozen=True, slots=True)
class Remote:
    """A git remote; `host`, `owner` and `project` are "" if its URL is not a forge's."""

    name: str
    url: str
    host: str = ""
    owner: str = ""
    project: str = ""

    @property
    def slug(self) -> str:
        """`host/owner/name` for gh's --repo; with the host in it, GH_HOST does not count."""
        return f"{self.host}/{self.owner}/{self.project}" if self.host else ""


@dataclass(frozen=True, slots=True)
class _Git:
    """Git in a repository, as the person (credentials, proxies), without the repository's hooks."""

    repo: Path
    env: Mapping[str, str]
    timeout_s: float = LOCAL_TIMEOUT_S

    def __call__(self, *args: str) -> CallResult:
        git = program_paths.find(program_paths.GIT, self.env, str(self.repo))
        if git is None:
            raise EnvironmentProblem("git is not on PATH", hint="install git")
        argv = (git, *_OWN, *args)
        env = program_paths.own_environment(self.env, str(self.repo))
        return call(argv, cwd=self.repo, env=env, timeout_s=self.timeout_s)

    def line(self, *args: str) -> str:
        answer = self(*args)
        if answer.returncode != 0:
            raise EnvironmentProblem(f"git {args[0]}: {redacted_line(answer.err, self.env)}", where=str(self.repo))
        return answer.out.strip()


def github_repo(url: str, env: Mapping[str, str]) -> tuple[str, str, str] | None:
    """(host, owner, name) of an https or ssh URL; None for anything else, such as a path.

    A host without a dot is an alias of ssh's configuration: GH_HOST says what it stands for.
    """
    match = _URL.match(url) or _SCP.match(url)
    slug = _SLUG.match(match["path"]) if match else None
    if match is None or slug is None:
        return None
    host = match["host"].lower()
    host = _OTHER_NAMES.get(host, host)
    if "." not in host and host != "localhost":
        host = env.get("GH_HOST") or "github.com"
    return host, slug["owner"], slug["name"]


def remote(repo: Path, *, env: Mapping[str, str]) -> Remote:
    """`origin`, else the only remote; EnvironmentProblem if there is none, or several without an origin."""
    git = _Git(repo, env)
    names = git.line("remote").split()
    if "origin" not in names and len(names) != 1:
        what = f"no remote is called origin: {', '.join(names)}" if names else "there is no remote"
        raise EnvironmentProblem(what, where=str(repo), hint="git remote add origin URL")
    name = "origin" if "origin" in names else names[0]
    url = git.line("remote", "get-url", name)
    return Remote(name, url, *(github_repo(url, env) or ("", "", "")))


def push(
    repo: Path,
    remote: Remote,
    oid: str,
    branch: str,
    base_branches: Collection[str],
    *,
    env: Mapping[str, str],
) -> None:
    """Push `oid` to the remote's `branch`, never by force, and verify it; nothing happens if it is there already.

    Raises InvalidInput for names that Git refuses, Conflict for a base branch or one with other commits,
    EnvironmentProblem for no access, no answer, or a remote that cannot store it. Each of at most three exchanges may
    take two minutes. Hooks do not run.
    """
    git = _Git(repo, env, PUSH_TIMEOUT_S)
    ref = _checked_ref(git, oid, branch)
    _refuse_base(branch, {*ALWAYS_PROTECTED, *base_branches}, remote)
    url = git.line("remote", "get-url", "--push", remote.name)
    before = _heads(git, url, ref)
    _refuse_base(branch, {before.get("HEAD", "")}, remote)
    if before.get(ref) == oid:
        return
    answer = git("push", *_PUSH_OPTIONS, remote.name, f"{oid}:{ref}")
    # The remote decides: a push may have worked although its answer was lost.
    if (answer.returncode == 0 or answer.timed_out) and _heads(git, url, ref).get(ref) == oid:
        return
    raise _why_not_pushed(git, answer, branch, url)


def try_push(repo: Path, remote: Remote, branch: str, *, env: Mapping[str, str], timeout_s: float) -> None:
    """Ask the remote whether HEAD may be pushed as `branch`, and push nothing. Raises the errors of `push`, but for the
    remote's rules and hooks, which judge only a real push."""
    git = _Git(repo, env, timeout_s)
    url = git.line("remote", "get-url", "--push", remote.name)
    answer = git("push", "--dry-run", *_PUSH_OPTIONS, remote.name, f"HEAD:refs/heads/{branch}")
    if answer.returncode != 0:
        raise _why_not_pushed(git, answer, branch, url)


def _checked_ref(git: _Git, oid: str, branch: str) -> str:
    if not _OID.fullmatch(oid):
        raise InvalidInput(f"{redacted_line(oid, git.env)!r} is not a full commit id")
    if branch.startswith("-") or git("check-ref-format", f"refs/heads/{branch}").returncode != 0:
        name = redacted_line(branch, git.env)
        raise InvalidInput(f"{name!r} is not a branch name", hint="set branchName in prd.json")
    return f"refs/heads/{branch}"


def _refuse_base(branch: str, bases: Collection[str], remote: Remote) -> None:
    if branch.casefold() in {name.casefold() for name in bases}:
        raise Conflict(
            f"Ralphy never pushes to {branch}, a base branch of {remote.name}",
            hint="set branchName in prd.json to the feature's own branch",
        )


def _heads(git: _Git, url: str, ref: str) -> dict[str, str]:
    """{ref: oid} if the remote has it, and {"HEAD": name of its default branch}."""
    answer = git("ls-remote", "--symref", "--", url, "HEAD", ref)
    if answer.returncode != 0:
        raise _no_access(git, answer, url)
    heads: dict[str, str] = {}
    for value, _, name in (line.partition("\t") for line in answer.out.splitlines()):
        if value.startswith("ref: refs/heads/") and name == "HEAD":
            heads["HEAD"] = value.removeprefix("ref: refs/heads/")
        elif name == ref:
            heads[ref] = value
    return heads


def _why_not_pushed(git: _Git, answer: CallResult, branch: str, url: str) -> RalphyError:
    rejected = _REJECTED.search(answer.out)
    if rejected is None:
        return _no_access(git, answer, url)
    why = redacted_line(rejected["why"], git.env).strip("()")
    if rejected["by"] and _could_not_store(why, answer.err):
        hint = "the remote's disk may be full or read-only; fix it, then rerun"
        what = f"the remote could not store the push of {branch}"
        return EnvironmentProblem(_explained(git, answer.err, what), where=redacted_line(url, git.env), hint=hint)
    if rejected["by"]:
        why = f"it {_TOO_BIG}" if _TOO_BIG in answer.err else why
        hint = "the forge's rules reject this branch; change them, or branchName in prd.json"
        what = _explained(git, answer.err, f"the push of {branch} was refused: {why}", is_whole=True)
        return Conflict(what, where=redacted_line(url, git.env), hint=hint)
    hint = f"check them (git fetch; git log ..origin/{branch}); Ralphy never forces a push"
    return Conflict(f"{branch} has other commits on the remote: {why}", where=redacted_line(url, git.env), hint=hint)


def _explained(git: _Git, err: str, what: str = "", *, is_whole: bool = False) -> str:
    """A message with Git's own text, unless it `is_whole`, and with each line that the remote printed."""
    rows = err.splitlines()
    remote = [row.removeprefix(_REMOTE) for row in rows if row.startswith(_REMOTE)]
    own = "" if is_whole else redacted_line("\n".join(row for row in rows if not row.startswith(_REMOTE)), git.env)
    lines = [line for row in remote if (line := redacted_line(row, git.env))]
    return "\n  remote: ".join([": ".join(part for part in (what, own) if part), *lines])


def _could_not_store(why: str, err: str) -> bool:
    """Did the remote accept the push, but fail to store it?"""
    return why in _NOT_STORED and bool(_OF_THE_DISK.search(err)) and _TOO_BIG not in err


def _no_access(git: _Git, answer: CallResult, url: str) -> EnvironmentProblem:
    where = redacted_line(url, git.env)
    if answer.timed_out:
        what = f"no answer within {git.timeout_s:g} s"
        return EnvironmentProblem(what, where=where, hint="check the network, then rerun")
    what = _explained(git, answer.err) or f"git ended with {answer.returncode} and no message"
    if _NO_ACCESS.search(answer.err):
        return EnvironmentProblem(what, where=where, hint="gh auth login, then gh auth setup-git; or an ssh key")
    return EnvironmentProblem(what, where=where, hint="try it with Git alone: git ls-remote")
