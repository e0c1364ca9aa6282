"""A feature's branch that grows while the checkout stands anywhere, as Ralphy lands on it: by its ref alone."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.engine.building import Act, Project, build, open_feature, story


def plan(*stories: Act, **root: Any) -> str:
    """A prd.json as Ralphy writes it."""
    return json.dumps({"branchName": "ralph/login", **root, "userStories": list(stories)}, indent=2) + "\n"


def pending(story_id: str = "US-001", **fields: Any) -> Act:
    return story(story_id, **{"passes": False, "status": "pending", "notes": "", **fields})


def completed(story_id: str = "US-001", **fields: Any) -> Act:
    return story(story_id, **{"passes": True, "status": "completed", "notes": "", **fields})


DOCUMENTS: dict[str, str | None] = {
    "PRD.md": "# Login\n",
    "SPEC.md": "# Spec\n",
    "prd.json": plan(pending(), pending("US-002")),
    "progress.txt": "# Progress\n",
    ".gitignore": "/TASKS.md\n/APPROVED\n/REJECTED\n/STOP\n/.ralphy/*\n!/.ralphy/config.yaml\n!/.ralphy/prompts/\n",
    "stories/US-001.md": "# One\n",
}


def begun(tmp_path: Path) -> Project:
    """A project whose branch holds the documents; the checkout stands on main, with nothing in the feature's folder."""
    project = build(tmp_path)
    (project.folder / "PRD.md").unlink()
    advance(project, DOCUMENTS)
    return project


def advance(project: Project, files: Mapping[str, str | None], code: Mapping[str, str | None] | None = None) -> str:
    """A commit on the feature's branch, made and named beside the checkout; gives its id."""
    branch = f"refs/heads/{project.branch}"
    parent = project.git("for-each-ref", "--format=%(objectname)", branch) or project.git("rev-parse", "main")
    person = "Test Person <person@example.org>"
    lines = [f"commit {branch}", f"committer {person} now", "data <<END", "landed", "END", f"from {parent}"]
    for path, text in {**{f"{project.path}/{name}": text for name, text in files.items()}, **(code or {})}.items():
        lines += [f"D {path}"] if text is None else [f"M 100644 inline {path}", f"data {len(text.encode())}", text]
    subprocess.run(["git", "fast-import", "--quiet", "--date-format=now"], cwd=project.repo, env=project.env,
                   input="\n".join([*lines, ""]), encoding="utf-8", check=True)  # fmt: skip
    return tip_of(project)


def tip_of(project: Project) -> str:
    return project.git("rev-parse", f"refs/heads/{project.branch}")


@contextmanager
def opened(project: Project) -> Iterator[Any]:
    """The feature's workspace; its sentences are gathered in `workspace.said`."""
    project.folder.mkdir(parents=True, exist_ok=True)
    with open_feature(project.repo, project.path, dict(project.env)) as workspace:
        workspace.repository.checkout_dir.mkdir(parents=True, exist_ok=True)
        yield workspace


def status(project: Project) -> str:
    return project.git("status", "--porcelain", "--untracked-files=all")


def age(project: Project) -> None:
    """Let Git's last writing be a while ago."""
    index = project.repo / ".git" / "index"
    os.utime(index, (index.stat().st_mtime - 60, index.stat().st_mtime - 60))
