"""Pull requests on GitHub through `gh`. An open one is adopted before one is made, so there are never two.

Every call can be repeated; after a lost answer the forge is asked for the pull request. Nothing prompts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from ralphy.errors import Conflict, EnvironmentProblem, RalphyError
from ralphy.forge.body import PullRequestText
from ralphy.forge.call import GH_IS_MISSING, CallResult, call_gh, redacted_line
from ralphy.forge.push import Remote
from ralphy.processes import program_paths

_NO_LOGIN = re.compile(r"HTTP 401|Bad credentials|gh auth login")
_NO_LOGIN_CODE = 4
_RATE_LIMIT = re.compile(r"rate limit|HTTP 429|abuse detection", re.IGNORECASE)
_NO_RIGHT = re.compile(r"HTTP 403|not accessible by|required scopes|must have", re.IGNORECASE)
_IN_THE_WAY = re.compile(r"No commits between|already exists|(?:Head|Base) (?:ref|sha)")
_TRANSIENT = re.compile(
    r"HTTP 5\d\d|\bEOF\b|time(?:d )?out|connection (?:reset|refused)|error connecting|\bdial\b|no such host",
    re.IGNORECASE,
)
_REFUSED_EXTRA = re.compile(r"could not (?:add|request) (?P<kind>label|reviewer): '(?P<name>.*)' not found")
_PULL_URL = re.compile(r"https?://\S+/pull/(?P<number>\d+)")
# Ways to merge; the first that the repository allows keeps a commit for each story, if it can.
_WAYS = (("merge", "allow_merge_commit"), ("rebase", "allow_rebase_merge"), ("squash", "allow_squash_merge"))
_LISTED = "number,url,baseRefName,isCrossRepository"


@dataclass(frozen=True, slots=True)
class PullRequest:
    """An open pull request; `adopted` says that it existed before this call."""

    number: int
    url: str
    adopted: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Draft:
    """A pull request to be made, with the labels and reviewers that the forge may not know."""

    branch: str
    base: str
    text: PullRequestText
    is_draft: bool
    labels: tuple[str, ...]
    reviewers: tuple[str, ...]

    def arguments(self) -> list[str]:
        given = [f"--head={self.branch}", f"--base={self.base}", f"--title={self.text.title}"]
        given += ["--body-file=-"] + (["--draft"] if self.is_draft else [])
        given += [f"--label={_csv(name)}" for name in self.labels]
        return given + [f"--reviewer={_csv(name)}" for name in self.reviewers]

    def without(self, refused: re.Match[str]) -> _Draft:
        """The same without the label or reviewer that gh refused; without all of them if it names another one."""
        if refused["kind"] == "label":
            return replace(self, labels=_all_but(refused["name"], self.labels))
        return replace(self, reviewers=_all_but(refused["name"], self.reviewers))


@dataclass(frozen=True, slots=True)
class GitHub:
    """The pull requests of a remote's repository, with the login of `gh`."""

    remote: Remote
    env: Mapping[str, str]
    timeout_s: float = 60.0

    @property
    def has_program(self) -> bool:
        """Is gh on PATH?"""
        return program_paths.find("gh", self.env) is not None

    def available(self) -> str | None:
        """Why pull requests cannot be opened, in a sentence; None when they can."""
        if not self.remote.slug:
            return f"{self.remote.name} is not on GitHub: {redacted_line(self.remote.url, self.env)}"
        if not self.has_program:
            return GH_IS_MISSING
        # Not `auth status`, which calls a token invalid when the forge fails for a moment.
        answer = self._gh("api", "/", "--silent", "--hostname", self.remote.host)
        if answer.returncode == 0:
            return None
        problem = self._problem(answer)
        return f"{problem.what} ({problem.hint})"

    def find(self, branch: str, base: str = "") -> PullRequest | None:
        """The open pull request of `branch`, one onto `base` first; those from forks do not count.

        Raises EnvironmentProblem if the forge cannot be asked.
        """
        asked = ("pr", "list", f"--repo={self.remote.slug}", f"--head={branch}", "--state=open")
        answer = self._gh(*asked, "--limit=50", f"--json={_LISTED}")
        if _is_transient(answer):
            answer = self._gh(*asked, "--limit=50", f"--json={_LISTED}")
        if answer.returncode != 0:
            raise self._problem(answer)
        own = [row for row in _rows(answer.out) if not row["isCrossRepository"]]
        own.sort(key=lambda row: row["baseRefName"] != base)
        return _adopted(own[0], base) if own else None

    def create(
        self,
        branch: str,
        base: str,
        text: PullRequestText,
        *,
        draft: bool = False,
        labels: Sequence[str] = (),
        reviewers: Sequence[str] = (),
    ) -> PullRequest:
        """The open pull request of `branch`: an existing one, else a new one.

        Labels and reviewers that the forge does not know are left out, with a warning. Raises EnvironmentProblem (no
        login, no right, no answer; the branch stays pushed) and Conflict (nothing to merge, no such base).
        """
        existing = self.find(branch, base)
        if existing is not None:
            return existing
        return self._make(_Draft(branch, base, text, draft, tuple(labels), tuple(reviewers)))

    def required_checks(self, base: str) -> tuple[str, ...]:
        """The checks that the base branch requires, by its protection or by rules; () if it requires none.

        Raises EnvironmentProblem if the forge cannot be asked.
        """
        branch = quote(base, safe="")
        state, rules = self._json(f"branches/{branch}"), self._json(f"rules/branches/{branch}")
        names = _names_of(_dict(_dict(state).get("protection")).get("required_status_checks"))
        for rule in rules if isinstance(rules, list) else ():
            if _dict(rule).get("type") == "required_status_checks":
                names += _names_of(rule.get("parameters"))
        return tuple(dict.fromkeys(names))

    def merge_when_green(self, number: int, oid: str) -> None:
        """Have the forge merge the pull request when its required checks pass, if its head is still `oid`."""
        allowed = _dict(self._json(""))
        way = next((way for way, name in _WAYS if allowed.get(name) is not False), "merge")
        answer = self._gh("pr", "merge", str(number), f"--repo={self.remote.slug}", "--auto", f"--{way}",
                          f"--match-head-commit={oid}")  # fmt: skip
        if answer.returncode != 0:
            raise self._problem(answer)

    def _json(self, path: str) -> object:
        """The API's answer for a path of the repository; None for a 404."""
        at = f"repos/{self.remote.owner}/{self.remote.project}/{path}".rstrip("/")
        answer = self._gh("api", at, "--hostname", self.remote.host)
        if answer.returncode != 0:
            if "HTTP 404" in answer.err:
                return None
            raise self._problem(answer)
        try:
            document: object = json.loads(answer.out)
        except ValueError:
            raise EnvironmentProblem("unexpected answer from gh", hint="update gh") from None
        return document

    def _make(self, wanted: _Draft) -> PullRequest:
        warnings: list[str] = []
        has_retry = True
        while True:
            answer = self._gh("pr", "create", f"--repo={self.remote.slug}", *wanted.arguments(), stdin=wanted.text.body)
            made = _PULL_URL.search(answer.out)
            if answer.returncode == 0 and made:
                return PullRequest(int(made["number"]), made[0], warnings=tuple(warnings))
            refused = _REFUSED_EXTRA.search(answer.err)
            if refused and (smaller := wanted.without(refused)) != wanted:
                warnings.append(f"left out: {redacted_line(refused[0], self.env)}")
                wanted = smaller
                continue
            existing = None if _is_login(answer) else self.find(wanted.branch, wanted.base)
            if existing is not None:
                return replace(existing, warnings=(*warnings, *existing.warnings, *self._complaint(answer)))
            if not (has_retry and _is_transient(answer)):
                raise self._problem(answer)
            has_retry = False

    def _complaint(self, answer: CallResult) -> tuple[str, ...]:
        """A warning with gh's message, if the pull request exists and the message says more than that."""
        if "already exists" in answer.err or answer.returncode == 0:
            return ()
        message = redacted_line(answer.err, self.env) or self._no_answer()
        return (f"the pull request exists, but gh reports: {message}",)

    def _gh(self, *args: str, stdin: str = "") -> CallResult:
        return call_gh(*args, env=self.env, timeout_s=self.timeout_s, stdin=stdin)

    def _no_answer(self) -> str:
        return f"no answer within {self.timeout_s:g} s"

    def _problem(self, answer: CallResult) -> RalphyError:
        where = f"gh ({self.remote.slug})"
        what = redacted_line(answer.err, self.env) or f"ended with {answer.returncode} and no message"
        if answer.timed_out:
            return EnvironmentProblem(self._no_answer(), where=where, hint="check the network, then rerun")
        if _is_login(answer):
            hint = f"gh auth login --hostname {self.remote.host}"
            return EnvironmentProblem(f"not logged in to {self.remote.host}: {what}", where=where, hint=hint)
        if _RATE_LIMIT.search(answer.err):
            return EnvironmentProblem(what, where=where, hint="rerun in a few minutes; nothing is lost")
        if _NO_RIGHT.search(answer.err):
            hint = f"gh auth refresh --hostname {self.remote.host} --scopes repo, or a token that may write"
            return EnvironmentProblem(what, where=where, hint=hint)
        if _IN_THE_WAY.search(answer.err):
            return Conflict(what, where=where, hint="check git.base in config.yaml and the branch on the forge")
        return EnvironmentProblem(what, where=where, hint="rerun later; the branch stays pushed")


def _dict(node: object) -> Mapping[str, Any]:
    return node if isinstance(node, dict) else {}


def _names_of(required: object) -> list[str]:
    """The names of required checks, as a branch's protection or a rule lists them."""
    lists = [_dict(required).get(name) or () for name in ("contexts", "checks", "required_status_checks")]
    return [str(_dict(row).get("context") or row) for rows in lists for row in rows]


def _is_login(answer: CallResult) -> bool:
    return answer.returncode == _NO_LOGIN_CODE or bool(_NO_LOGIN.search(answer.err))


def _is_transient(answer: CallResult) -> bool:
    return answer.timed_out or (answer.returncode != 0 and bool(_TRANSIENT.search(answer.err)))


def _rows(out: str) -> list[dict[str, object]]:
    try:
        rows = json.loads(out or "[]")
        return [{name: row[name] for name in _LISTED.split(",")} for row in rows]
    except (ValueError, TypeError, KeyError):
        raise EnvironmentProblem("unexpected answer from gh", hint="update gh") from None


def _adopted(row: Mapping[str, object], base: str) -> PullRequest:
    onto = row["baseRefName"]
    warnings = (f"its base is {onto}, not {base}",) if base and onto != base else ()
    return PullRequest(int(str(row["number"])), str(row["url"]), adopted=True, warnings=warnings)


def _all_but(name: str, names: tuple[str, ...]) -> tuple[str, ...]:
    remaining = tuple(other for other in names if other.casefold() != name.casefold())
    return remaining if remaining != names else ()


def _csv(name: str) -> str:
    """A name in gh's comma-separated lists."""
    return f'"{name.replace(chr(34), chr(34) * 2)}"' if set(name) & set(',"\n') else name
