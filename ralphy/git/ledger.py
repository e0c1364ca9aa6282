"""What git log says of stories: which commit completed one, whether it was reverted, and which attempts were kept.

Only the trailers of commits are read, never their prose; the one exception is git's own sentence in the commit of a
revert. It is for people who look back: no decision depends on it. This is the one place that uses GitPython, which is
loaded when something is asked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ralphy.errors import Conflict, EnvironmentProblem, NotFound
from ralphy.git.commands import SAFE, GitError, Repository, is_foreign

_UNDOES = re.compile(r"^This reverts commit ([0-9a-f]{7,64})\b", re.M)
_COUNTED_AS = re.compile(r" attempt (\d{1,9}): \w+$")
_TRAILERS = ("Ralphy-Story", "Ralphy-Attempt", "Ralphy-Run", "Ralphy-Cost-USD")
_LOG = "%x1e%H%x00%ct%x00%s%x00" + "".join(f"%(trailers:key={name},valueonly)%x00" for name in _TRAILERS) + "%b"
_REF = "%(objectname)%00%(refname)%00%(parent)%00%(committerdate:unix)%00%(contents:subject)%00%(contents:body)%00%1e"


@dataclass(frozen=True, slots=True)
class StoryCommit:
    """A story's commit; `at` is epoch seconds, `reverted_by` the commit that reverted it, or ""."""

    story: str
    commit: str
    at: int
    subject: str
    attempt: int
    run: str
    cost_usd: float
    reverted_by: str = ""


@dataclass(frozen=True, slots=True)
class KeptAttempt:
    """An attempt that did not count, under its ref; `parent` is the green commit that it began from.

    `number` is unique in the story; `counted_as` begins at 1 again after a redo. `at` is epoch seconds, `outcome` the
    agent protocol's word, `why` the failure, `files` what it changed.
    """

    ref: str
    story: str
    number: int
    counted_as: int
    commit: str
    parent: str
    at: int
    outcome: str
    why: str
    files: tuple[str, ...]


def story_commits(repository: Repository, feature: str, tip: str) -> dict[str, StoryCommit]:
    """Story id -> the newest commit below `tip` that completed it: one that still counts before a reverted one."""
    undone: dict[str, str] = {}
    newest: dict[str, StoryCommit] = {}
    for fields in _log(repository, feature, tip):
        commit, at, subject, story, attempt, run, cost, body = fields
        by = next((by for start, by in undone.items() if commit.startswith(start)), "")
        if not by:  # a revert that was itself reverted undoes nothing
            undone.update(dict.fromkeys(_UNDOES.findall(body), commit))
        if story.startswith(f"{feature}/"):
            row = StoryCommit(story.removeprefix(f"{feature}/"), commit, int(at), subject, _count(attempt), run,
                         _dollars(cost), by)  # fmt: skip
            known = newest.get(row.story)
            if known is None or (known.reverted_by and not by):
                newest[row.story] = row
    return newest


def unreverted_commits(repository: Repository, feature: str, tip: str) -> dict[str, str]:
    """Story id -> its commit, for those that were not reverted."""
    rows = story_commits(repository, feature, tip) if tip else {}
    return {story: one.commit for story, one in rows.items() if not one.reverted_by}


def resolve_commit(repository: Repository, name: str) -> str:
    """The id of the commit that a person names (a branch, a tag, `HEAD~2`), or ""."""
    try:
        return repository.text("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    except GitError:
        return ""


def commit_with_trailer(repository: Repository, trailer: str, value: str, tip: str) -> str:
    """The newest commit below `tip` that has this trailer, such as `Ralphy-Story: login/US-001`, or ""."""
    grep = f"--grep=^{trailer}: {re.escape(value)}$"
    return repository.text("log", "-1", "--format=%H", "--extended-regexp", grep, tip, "--") if tip else ""


def commits_between(repository: Repository, base: str, tip: str) -> list[tuple[str, StoryCommit]]:
    """(feature, commit) of every story that landed above `base` and up to `tip`, oldest first."""
    commits = []
    for commit, at, subject, story, attempt, run, cost, _ in reversed(list(_log(repository, "", f"{base}..{tip}"))):
        feature, _, name = story.partition("/")
        if name:
            commit_of_story = StoryCommit(name, commit, int(at), subject, _count(attempt), run, _dollars(cost))
            commits.append((feature, commit_of_story))
    return commits


def _log(repository: Repository, feature: str, tip: str) -> Iterator[list[str]]:
    """The fields of every commit that could matter, newest first."""
    begins = f"^Ralphy-Story: {feature}/" if feature else "^Ralphy-Story: "
    out = _ask(repository, "log", f"--format={_LOG}", "--topo-order",
               f"--grep={begins}", "--grep=^This reverts commit ", tip, "--")  # fmt: skip
    for record in out.split("\x1e")[1:]:
        yield [field.strip() for field in record.split("\0", 7)]


def _count(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def _dollars(text: str) -> float:
    return float(text) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text) else 0.0


def kept_attempts(repository: Repository, feature: str, story: str = "") -> list[KeptAttempt]:
    """The attempts that were kept, by story and number."""
    below = f"refs/ralphy/{feature}/{story}" if story else f"refs/ralphy/{feature}"
    out = _ask(repository, "for-each-ref", f"--format={_REF}", below)
    rows = [row for record in out.split("\x1e") if _number(row := record.lstrip("\n").split("\0"))]
    files = _changed_files(repository, [row[0] for row in rows])
    attempts = [_attempt(row, files.get(row[0], ())) for row in rows]
    return sorted(attempts, key=lambda attempt: (attempt.story, attempt.number))


def _number(row: Sequence[str]) -> int:
    """The number at the end of an attempt's ref; 0 for any other ref."""
    name = row[1].rpartition("/")[2] if len(row) > 1 else ""
    return _count(name.removeprefix("attempt-")) if name.startswith("attempt-") else 0


def _attempt(row: Sequence[str], files: tuple[str, ...]) -> KeptAttempt:
    commit, ref, parent, at, subject, why = row[:6]
    match, number = _COUNTED_AS.search(subject), _number(row)
    counted_as = int(match[1]) if match else number
    return KeptAttempt(ref, ref.split("/")[3], number, counted_as, commit, parent.split(" ")[0], _count(at),
                       subject.rpartition(": ")[2], why.strip(), files)  # fmt: skip


def _changed_files(repository: Repository, commits: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Commit -> the paths that differ from its parent."""
    if not commits:
        return {}
    out = _ask(repository, "log", "--no-walk=unsorted", "-z", "--format=%x1e%H", "--name-only", "--no-renames",
               "--no-ext-diff", "--no-textconv", *commits, "--")  # fmt: skip
    files = {}
    for record in out.split("\x1e")[1:]:
        commit, _, names = record.partition("\0")
        files[commit.strip()] = tuple(name for name in names.lstrip("\n").split("\0") if name)
    return files


def find_attempt(repository: Repository, feature: str, story: str, number: int | None) -> KeptAttempt:
    """One attempt of a story, the newest if no number is given. Raises NotFound, which lists the numbers there are."""
    attempts = kept_attempts(repository, feature, story)
    wanted = [attempt for attempt in attempts if number is None or attempt.number == number]
    if wanted:
        return wanted[-1]
    which = f"attempt {number}" if number is not None else "attempt"
    there = ", ".join(str(attempt.number) for attempt in attempts)
    raise NotFound(f"no {which} of {feature}/{story} exists",
                   hint=f"there are: {there}" if there else f"ralphy attempts list {feature}")  # fmt: skip


def attempt_patch(repository: Repository, attempt: KeptAttempt) -> bytes:
    """What the attempt changed, as a binary patch; no program that the repository configures makes it."""
    return repository.run("diff", "--no-ext-diff", "--no-textconv", "--binary", "--full-index",
                          attempt.parent, attempt.commit)  # fmt: skip


def apply_attempt(repository: Repository, attempt: KeptAttempt) -> None:
    """Apply the attempt's changes to the working tree, all or none. Raises Conflict if they do not fit any more."""
    try:
        repository.run("apply", "--whitespace=nowarn", stdin=attempt_patch(repository, attempt))
    except GitError as error:
        why = next(iter(error.stderr.splitlines()), "")
        raise Conflict(f"attempt {attempt.number} of {attempt.story} does not apply to later commits: {why}",
                       hint=f"git diff {attempt.parent[:12]} {attempt.ref}") from error  # fmt: skip


def _ask(repository: Repository, command: str, *args: str) -> str:
    """The output of a git command through GitPython, which starts a git as soon as it is imported."""
    for name in [name for name in os.environ if is_foreign(name)]:  # it hands on all that there is
        del os.environ[name]
    os.environ["GIT_PYTHON_GIT_EXECUTABLE"] = repository.program
    try:
        from git import Repo
        from git.exc import GitCommandError
        from git.exc import GitError as CannotOpen
    except ImportError as error:  # that git may die, too
        raise EnvironmentProblem(f"git version: {error.__cause__ or error}", hint="git --version") from error
    own = {"GIT_DIR": str(repository.git_dir), "GIT_WORK_TREE": str(repository.root)}
    try:
        with Repo(repository.root) as repo:
            repo.git.update_environment(**repository.env, **own)
            return str(repo.git.execute([repository.program, *SAFE, command, *args], strip_newline_in_stdout=False))
    except GitCommandError as error:
        raise EnvironmentProblem(f"git {command}: {str(error.stderr).strip()}", hint="git fsck") from error
    except CannotOpen as error:
        raise EnvironmentProblem(f"the repository cannot be opened: {error}", where=str(repository.root)) from error
