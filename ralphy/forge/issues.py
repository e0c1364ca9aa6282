"""The issues of a repository on GitHub, read through `gh`: one by its number, or all open ones with a label."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from ralphy.errors import EnvironmentProblem, InvalidInput, NotFound
from ralphy.exchange.issues import Issue
from ralphy.forge.call import call_gh, redacted_line

_SOURCE = re.compile(r"github:([A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+)(?:#(\d{1,9}))?")
_PAGE, _MOST_PAGES = 100, 30
_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class IssueSource:
    """The repository of issues; `number` is 0 for all open ones."""

    slug: str
    number: int = 0


def source_of(text: str) -> IssueSource | None:
    """The source in `github:owner/repo#12` or `github:owner/repo`; None for a text that does not begin so."""
    if not text.startswith("github:"):
        return None
    match = _SOURCE.fullmatch(text)
    if not match:
        raise InvalidInput(f"{text!r} names no issues", hint="github:owner/repo#12, or github:owner/repo --label NAME")
    return IssueSource(match[1], int(match[2] or 0))


def read_issues(source: IssueSource, label: str, env: Mapping[str, str]) -> tuple[list[Issue], bool]:
    """(issues, are there more than these?). Raises NotFound if there are none, EnvironmentProblem if gh fails."""
    at, issues, is_cut = f"repos/{source.slug}/issues", list[Issue](), False
    if source.number:
        issues = _asked(source, f"{at}/{source.number}", env)[0]
    else:
        asked = f"{at}?state=open&per_page={_PAGE}" + (f"&labels={quote(label, safe='')}" if label else "")
        for page in range(1, _MOST_PAGES + 1):
            page_issues, is_cut = _asked(source, f"{asked}&page={page}", env)
            issues += page_issues
            if not is_cut:
                break
    if not issues:
        raise NotFound(f"{source.slug} has no open issue" + (f" with the label {label}" if label else ""))
    return issues, is_cut


def _asked(source: IssueSource, path: str, env: Mapping[str, str]) -> tuple[list[Issue], bool]:
    """(issues, is it a full page?) of one answer, without the pull requests in it."""
    answer = call_gh("api", path, env=env, timeout_s=_TIMEOUT_S)
    if "HTTP 404" in answer.err:
        what = f"{source.slug} has no issue {source.number}" if source.number else f"there is no {source.slug}"
        raise NotFound(what, hint="gh auth status")
    if answer.returncode != 0:
        why = "no answer in time" if answer.timed_out else redacted_line(answer.err, env)
        raise EnvironmentProblem(f"gh cannot read the issues: {why}", where=source.slug, hint="gh auth login")
    try:
        root = json.loads(answer.out)
        rows = root if isinstance(root, list) else [root]
        issues = [Issue(int(row["number"]), str(row["title"]), str(row["body"] or ""), row["state"] == "closed")
                  for row in rows if "pull_request" not in row]  # fmt: skip
    except (ValueError, TypeError, KeyError):
        raise EnvironmentProblem("unexpected answer from gh", where=source.slug, hint="update gh") from None
    return issues, len(rows) == _PAGE
