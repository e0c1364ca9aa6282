"""Commits, made by `git commit-tree`; signed ones with the program and the key of the person's own settings.

Nobody is there at night to type a passphrase, so nothing may ask: gpg and gpgsm are told not to, ssh-keygen finds no
terminal, and any other program has half a minute.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from ralphy.errors import DiskFull, EnvironmentProblem
from ralphy.files.read import read_regular
from ralphy.git.commands import DURABLE, Repository, failure
from ralphy.processes import program_paths
from ralphy.processes.bounded import run_bounded

_OPTIONS = (*DURABLE, "-c", "i18n.commitEncoding=UTF-8")
_LONGEST_S = 30.0
_LOG = "gpg.log"
# gpg.format -> its program, where none is named
_PROGRAMS = {"openpgp": "gpg", "x509": "gpgsm", "ssh": "ssh-keygen"}
_GPG = re.compile(r"gpg[\w.-]*")
_STAMP = re.compile(r"^[\d: -]+gpg\w*\[\d+\] ")
_NOISE = re.compile(r"^(error: gpg failed to sign|fatal: failed to write commit|\[GNUPG:\])|^$")


@dataclass(frozen=True, slots=True)
class CommitText:
    """A commit but for its tree: `who` is `Name <address>`, `at` epoch seconds."""

    parents: Sequence[str]
    who: str
    at: int
    message: str

    @property
    def data(self) -> bytes:
        """The message as bytes for git, which refuses a NUL: the output of a check may hold one."""
        return self.message.replace("\0", "").encode("utf-8", "replace")


def signs_commits(repository: Repository) -> bool:
    """Does the person have Git sign commits?"""
    return repository.text("config", "--type=bool", "--default=false", "--get", "commit.gpgsign") == "true"


def write_commit(repository: Repository, tree: str, text: CommitText) -> str:
    """Make a commit of a tree, and return its id."""
    words = (*_OPTIONS, *_arguments(tree, text))
    return repository.run(*words, stdin=text.data, env=_variables(text)).decode().strip()


def sign_commit(repository: Repository, tree: str, text: CommitText, more: Mapping[str, str] | None = None) -> str:
    """Make a signed commit of a tree, with `more` variables for git, and return its id.

    Raises EnvironmentProblem if it cannot be signed, DiskFull if it cannot be stored.
    """
    env = {**repository.env, **_variables(text), **(more or {}), "SSH_ASKPASS_REQUIRE": "never"}
    with TemporaryDirectory(prefix="ralphy-sign-", dir=repository.git_dir) as folder:
        words = (*_OPTIONS, *_gpg_without_prompt(repository, Path(folder)), *_arguments(tree, text), "-S")
        return _run(repository, words, env, text.data, Path(folder) / _LOG)


def require_signer(repository: Repository, who: str) -> None:
    """Raises EnvironmentProblem if a commit could not be signed now, by a trial that leaves nothing behind."""
    empty = repository.text("hash-object", "-t", "tree", "--stdin")
    with TemporaryDirectory(prefix="ralphy-sign-", dir=repository.git_dir) as folder:
        text = CommitText((), who, 0, "May a commit be signed?\n")
        sign_commit(repository, empty, text, {"GIT_OBJECT_DIRECTORY": folder})


def format_of(repository: Repository) -> str:
    """How commits are signed: openpgp, x509 or ssh."""
    return repository.text("config", "--default=openpgp", "--get", "gpg.format")


def _arguments(tree: str, text: CommitText) -> tuple[str, ...]:
    return ("commit-tree", tree, *(word for parent in text.parents for word in ("-p", parent)), "-F", "-")


def _variables(text: CommitText) -> dict[str, str]:
    """Git's variables for the author, the committer and their dates."""
    name, _, address = text.who.rpartition(" <")
    return {f"GIT_{role}_{field}": value for role in ("AUTHOR", "COMMITTER")
            for field, value in (("NAME", name), ("EMAIL", address.rstrip(">")), ("DATE", f"@{text.at} +0000"))
            }  # fmt: skip


def _gpg_without_prompt(repository: Repository, folder: Path) -> tuple[str, ...]:
    """Options that make git run gpg (or gpgsm) in a way that fails instead of asking for a passphrase."""
    kind = format_of(repository)
    program = _PROGRAMS.get(kind, kind)
    for setting in ("gpg.program", "gpg.openpgp.program") if kind == "openpgp" else (f"gpg.{kind}.program",):
        program = repository.text("config", "--type=path", f"--default={program}", "--get", setting)
    path = program_paths.find(program, repository.env)
    if not path or not _GPG.fullmatch(Path(program).name):
        return ()
    script = folder / "gpg"
    quoted = " ".join(map(shlex.quote, (path, "--batch", "--pinentry-mode", "error", "--log-file", str(folder / _LOG))))
    script.write_text(f'#!/bin/sh\nexec {quoted} "$@"\n', encoding="utf-8")
    script.chmod(0o700)
    return "-c", f"gpg.{kind}.program={script}"


def _run(repository: Repository, words: Sequence[str], env: Mapping[str, str], stdin: bytes, log: Path) -> str:
    """The output of a git without a terminal, within half a minute; gpg writes to `log`."""
    argv = (repository.program, *repository.options, *words)
    try:
        done = run_bounded(argv, cwd=repository.root, env=env, timeout_s=_LONGEST_S, stdin=stdin)
    except subprocess.TimeoutExpired as error:
        raise _not_signed(repository, f"no signature within {_LONGEST_S:.0f} s") from error
    if done.returncode == 0:
        return done.stdout.decode().strip()
    trouble = failure(["commit-tree", "-S"], done.returncode, done.stderr, str(repository.root))
    if isinstance(trouble, DiskFull):
        raise trouble
    stderr = (done.stderr + (read_regular(log) or b"")).decode("utf-8", "replace").splitlines()
    lines = dict.fromkeys(_STAMP.sub("", line) for line in stderr if not _NOISE.match(line))
    raise _not_signed(repository, "; ".join(list(lines)[:3]))


def _not_signed(repository: Repository, why: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"commit.gpgsign is on, and the commit could not be signed ({format_of(repository)}): {why}",
        hint="unlock the key so that nobody is asked (ssh-add, or gpg-agent's cache), "
             "or leave Ralphy's commits unsigned: ralphy config set git.sign off",
    )  # fmt: skip
