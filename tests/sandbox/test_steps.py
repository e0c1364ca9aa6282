"""What the agents of later steps do to a branch that is about to be published."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.building import assert_clean, build, reports, story, works
from tests.engine.test_authoring import AUTO, refs_of

MEDDLES = [
    ["git", "commit", "--quiet", "--allow-empty", "-m", "mine"],
    ["sh", "-c", "git update-ref refs/heads/ralph/login $(git commit-tree -m plumbed HEAD^{tree})"],
    ["sh", "-c", "echo HACK >> check.py"],
]


@pytest.mark.attempt(50)
@pytest.mark.parametrize("meddling", MEDDLES, ids=["commits", "moves its branch", "changes code"])
def test_what_the_agent_of_the_pull_request_does_besides_is_not_published(tmp_path: Path, meddling: list[str]) -> None:
    remote = tmp_path / "remote.git"
    project = build(tmp_path, story("US-001"), **AUTO)
    project.add_remote(remote)
    text = {"outbox": {"PR.md": "# A title\n\nA text.\n"}, "run": meddling}
    project.play(stories={"*": [works()]}, qa=[reports()], pr=[text])
    project.loop()
    published = refs_of(remote).get("refs/heads/ralph/login", "")
    assert published == project.git("rev-parse", "ralph/login")
    told = project.git("log", "--format=%s", published) + project.git("show", f"{published}:check.py")
    assert not {"mine", "plumbed", "HACK"} & set(told.split())
    assert_clean(project)
