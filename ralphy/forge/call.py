"""One call of `gh` or `git` with a time limit: it cannot prompt, and leaves no process behind."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ralphy.errors import EnvironmentProblem
from ralphy.processes import program_paths
from ralphy.processes.bounded import run_bounded
from ralphy.text.plain_text import one_line

# Variables that would point Git at another repository than the folder that it is started in.
_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE")
# Variables that colour, trace or decorate the output that is read here.
_NOISE = ("GH_DEBUG", "GH_FORCE_TTY", "CLICOLOR_FORCE", "GH_PAGER", "GIT_TRACE", "GIT_CURL_VERBOSE")
_QUIET = {
    "GH_PROMPT_DISABLED": "1",
    "GH_NO_UPDATE_NOTIFIER": "1",
    "NO_COLOR": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "SSH_ASKPASS_REQUIRE": "never",
    "LC_ALL": "C",
}
_TOKENS = ("GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
_LOGIN_IN_URL = re.compile(r"://[^/\s]+@")
_MAX_LINE = 400
GH_IS_MISSING = "gh (the GitHub CLI) is not on PATH"


@dataclass(frozen=True, slots=True)
class CallResult:
    """How a program ended. After a timeout, `returncode` is that of the kill and the texts are empty."""

    returncode: int
    out: str
    err: str
    timed_out: bool = False


def call(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout_s: float, stdin: str = "") -> CallResult:
    """Run a program to its end or the time limit; EnvironmentProblem if it cannot be started.

    The program has its own session: without a terminal nothing can prompt, and a timeout ends its children, too.
    """
    try:
        done = run_bounded(argv, cwd=cwd, env=_quiet(env), timeout_s=timeout_s, stdin=stdin.encode("utf-8", "replace"))
    except subprocess.TimeoutExpired:
        return CallResult(-signal.SIGKILL, "", "", timed_out=True)
    except OSError as error:
        raise EnvironmentProblem(
            f"{argv[0]} cannot be started: {error.strerror}", where=str(cwd), hint=f"put {argv[0]} on PATH"
        ) from None
    return CallResult(done.returncode, _text(done.stdout), _text(done.stderr))


def call_gh(*args: str, env: Mapping[str, str], timeout_s: float, stdin: str = "") -> CallResult:
    """Run gh; EnvironmentProblem if it is not on PATH.

    It runs in the root folder: no file of a checkout that an agent wrote to can name another repository.
    """
    program = program_paths.find("gh", env)
    if program is None:
        raise EnvironmentProblem(GH_IS_MISSING, hint="ralphy doctor")
    return call((program, *args), cwd=Path("/"), env=env, timeout_s=timeout_s, stdin=stdin)


def redacted_line(text: str, env: Mapping[str, str]) -> str:
    """A program's message on one printable line, without credentials."""
    for secret in filter(None, map(env.get, _TOKENS)):
        text = text.replace(secret, "…")
    line = one_line(_LOGIN_IN_URL.sub("://", text))
    return line if len(line) <= _MAX_LINE else line[: _MAX_LINE - 1] + "…"


def _quiet(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name not in _ELSEWHERE + _NOISE} | _QUIET


def _text(data: bytes) -> str:
    """Output with plain line ends: a server's progress lines have carriage returns."""
    return data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
