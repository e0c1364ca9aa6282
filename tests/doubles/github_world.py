"""The repository behind the GitHub double: pull requests, labels and issues as `gh` sees them."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.doubles.graphql import RefusedError

Node = dict[str, Any]
NO_COMMIT = "0" * 40


@dataclass(slots=True)
class World:
    """State that survives requests. With `git_dir` (a bare repository) heads are real branches."""

    owner: str = "acme"
    name: str = "widget"
    server: str = "github.com"
    viewer: str = "ralphy-bot"
    git_dir: Path | None = None
    labels: list[str] = field(default_factory=lambda: ["ralphy", "auto-generated"])
    reviewers: list[str] = field(default_factory=lambda: ["team-lead"])
    merge_state: str = "BLOCKED"
    auto_merge_allowed: bool = True
    required: list[str] = field(default_factory=list)
    prs: list[Node] = field(default_factory=list)
    issues: list[Node] = field(default_factory=list)

    def open_issues(self, label: str) -> list[Node]:
        """The open issues as the REST API lists them, those with the label if one is named."""
        named = [(one, [has["name"] for has in one["labels"]]) for one in self.issues if one["state"] == "open"]
        return [one for one, names in named if not label or label in names]

    def query(self) -> Node:
        return {
            "viewer": self._user(self.viewer),
            "repository": self._repository_named,
            "user": lambda given: self._user(given["login"]),
            "node": lambda given: self._node(self._by_id(given["id"])),
            "search": lambda given: _connection([]),
            "__type": _type,
        }

    def branch(self, name: str) -> Node:
        """A branch as the REST API tells of it: what protects it may be read by everybody."""
        required = {"contexts": self.required, "checks": []}
        return {"name": name, "protection": {"enabled": bool(self.required), "required_status_checks": required}}

    def mutation(self) -> Node:
        return {
            "createPullRequest": lambda given: self._create(given["input"]),
            "addLabelsToLabelable": self._edit(_add_labels),
            "requestReviews": self._edit(lambda pr, given: None),
            "requestReviewsByLogin": self._edit(self._ask_reviewers),
            "updatePullRequest": self._edit(_update),
            "enablePullRequestAutoMerge": self._edit(self._merge_later),
            "mergePullRequest": self._edit(self._merge),
        }

    def _create(self, given: Mapping[str, Any]) -> Node:
        head, base = given["headRefName"].split(":")[-1], given["baseRefName"]
        if any(
            (pr["headRefName"], pr["baseRefName"], pr["state"]) == (head, base, "OPEN") and not pr["isCrossRepository"]
            for pr in self.prs
        ):
            raise RefusedError(f"A pull request already exists for {self.owner}:{head}.", path="createPullRequest")
        oid = self._head(head)
        if oid is None:
            raise RefusedError(
                f"Head sha can't be blank, No commits between {base} and {head}, Head ref must be a branch",
                path="createPullRequest",
            )
        pr = self.add(head, base, title=given["title"], body=given.get("body", ""), oid=oid)
        pr["isDraft"] = bool(given.get("draft"))
        return {"pullRequest": self._node(pr)}

    def add(
        self, head: str, base: str = "main", *, title: str = "Someone's", body: str = "", oid: str = "1" * 40
    ) -> Node:
        """Put a pull request there, as if somebody had opened it."""
        pr: Node = {"number": len(self.prs) + 1, "title": title, "body": body, "state": "OPEN"}
        pr |= {"headRefName": head, "baseRefName": base, "headRefOid": oid, "isDraft": False}
        pr |= {"isCrossRepository": False, "createdAt": _now(), "updatedAt": _now(), "closedAt": None}
        pr |= {"labels": [], "reviewers": [], "autoMergeRequest": None, "mergedAt": None}
        self.prs.append(pr)
        return pr

    def _head(self, branch: str) -> str | None:
        if self.git_dir is None:
            return "1" * 40
        asked = ["git", "--git-dir", str(self.git_dir), "rev-parse", "--verify", f"refs/heads/{branch}"]
        found = subprocess.run(asked, capture_output=True, encoding="utf-8", check=False)
        return found.stdout.strip() if found.returncode == 0 else None

    def _edit(self, change: Callable[[Node, Mapping[str, Any]], None]) -> Callable[[Node], Node]:
        def apply(arguments: Node) -> Node:
            given = arguments["input"]
            node = next((given[key] for key in ("pullRequestId", "labelableId", "id") if key in given), "")
            pr = self._by_id(node)
            if pr is None:
                raise RefusedError("Could not resolve to a node", "NOT_FOUND", "node")
            change(pr, given)
            return {"pullRequest": self._node(pr), "clientMutationId": ""}

        return apply

    def _ask_reviewers(self, pr: Node, given: Mapping[str, Any]) -> None:
        for login in given.get("userLogins") or []:
            if login not in self.reviewers:
                raise RefusedError(f"Could not resolve user with login '{login}'.", "NOT_FOUND")
            pr["reviewers"].append(login)

    def _merge_later(self, pr: Node, given: Mapping[str, Any]) -> None:
        if not self.auto_merge_allowed:
            raise RefusedError("Pull request Auto merge is not allowed for this repository")
        if given.get("expectedHeadOid") not in (None, self._head(pr["headRefName"])):
            raise RefusedError("Head branch was modified. Review and try the merge again.")
        pr["autoMergeRequest"] = {"enabledAt": _now(), "mergeMethod": given.get("mergeMethod", "MERGE"),
                                  "expectedHeadOid": given.get("expectedHeadOid")}  # fmt: skip

    def _merge(self, pr: Node, given: Mapping[str, Any]) -> None:
        if self.merge_state == "BLOCKED":
            raise RefusedError("Pull request is not mergeable: the base branch policy prohibits the merge.")
        pr.update(state="MERGED", mergedAt=_now())

    def _by_id(self, node: str) -> Node | None:
        return next((pr for pr in self.prs if f"PR_{pr['number']}" == node), None)

    def _by_number(self, given: Mapping[str, Any]) -> Node | None:
        return self._node(self._by_id(f"PR_{given.get('number')}"))

    def _user(self, login: str) -> Node:
        also = ("Actor", "RepositoryOwner")
        return {"__typename": "User", "__also": also, "login": login, "id": f"U_{login}", "name": login}

    def _repository_named(self, given: Mapping[str, Any]) -> Node | None:
        return self._repository() if (given["owner"], given["name"]) == (self.owner, self.name) else None

    def _repository(self) -> Node:
        people = [self._user(login) for login in self.reviewers]
        return {
            "__typename": "Repository",
            "id": "R_1",
            "name": self.name,
            "owner": self._user(self.owner),
            "nameWithOwner": f"{self.owner}/{self.name}",
            "url": self.url,
            "isPrivate": False,
            "hasIssuesEnabled": True,
            "viewerPermission": "WRITE",
            "defaultBranchRef": {"name": "main", "target": {"oid": NO_COMMIT}},
            "mergeCommitAllowed": True,
            "squashMergeAllowed": True,
            "rebaseMergeAllowed": True,
            "viewerDefaultMergeMethod": "MERGE",
            "autoMergeAllowed": self.auto_merge_allowed,
            "pullRequest": self._by_number,
            "issueOrPullRequest": self._by_number,
            "pullRequests": lambda given: _connection([self._node(pr) for pr in self._listed(given)]),
            "pullRequestTemplates": [],
            "labels": lambda given: _connection([_label(name) for name in self.labels]),
            "assignableUsers": lambda given: _connection(people),
            "suggestedActors": lambda given: _connection(people),
        }

    @property
    def url(self) -> str:
        return f"https://{self.server}/{self.owner}/{self.name}"

    def _listed(self, given: Mapping[str, Any]) -> list[Node]:
        states = given.get("states") or ["OPEN", "CLOSED", "MERGED"]
        head, base = given.get("headRefName"), given.get("baseRefName")
        return [
            pr
            for pr in reversed(self.prs)
            if pr["state"] in states and head in (None, pr["headRefName"]) and base in (None, pr["baseRefName"])
        ]

    def _node(self, pr: Node | None) -> Node | None:
        if pr is None:
            return None
        commit = {"commit": {"oid": pr["headRefOid"]}}
        return {
            **pr,
            "__typename": "PullRequest",
            "id": f"PR_{pr['number']}",
            "url": f"{self.url}/pull/{pr['number']}",
            "author": self._user(self.viewer),
            "closed": pr["state"] != "OPEN",
            "mergeable": "MERGEABLE",
            "mergeStateStatus": self.merge_state,
            "headRepository": {"id": "R_1", "name": self.name},
            "headRepositoryOwner": self._user("stranger" if pr["isCrossRepository"] else self.owner),
            "baseRef": {"branchProtectionRule": None},
            "labels": _connection([_label(name) for name in pr["labels"]]),
            "assignees": _connection([]),
            "reviewRequests": _connection([]),
            "reviews": _connection([]),
            "comments": _connection([]),
            "commits": _connection([commit]),
        }


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _label(name: str) -> Node:
    return {"id": f"LA_{name}", "name": name, "description": "", "color": "ededed"}


def _connection(nodes: list[Any]) -> Node:
    page = {"hasNextPage": False, "hasPreviousPage": False, "endCursor": "", "startCursor": ""}
    return {"nodes": nodes, "edges": [{"node": node} for node in nodes], "totalCount": len(nodes), "pageInfo": page}


def _add_labels(pr: Node, given: Mapping[str, Any]) -> None:
    pr["labels"] = sorted({*pr["labels"], *(node.removeprefix("LA_") for node in given.get("labelIds") or ())})


def _update(pr: Node, given: Mapping[str, Any]) -> None:
    pr.update({name: given[name] for name in ("title", "body", "baseRefName") if given.get(name) is not None})
    _add_labels(pr, given)


# Which optional fields `gh` may ask for: it looks before it uses them.
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "PullRequest": ("isDraft", "autoMergeRequest"),
    "Repository": ("autoMergeAllowed", "pullRequestTemplates", "visibility"),
}


def _type(given: Mapping[str, Any]) -> Node:
    names = _FIELDS.get(given.get("name", ""), ())
    fields = [{"name": name} for name in names]
    return {"__typename": "__Type", "name": given.get("name"), "fields": lambda _: fields, "inputFields": []}
