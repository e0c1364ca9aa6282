"""The spec, QA and PR steps: drafts that go back, findings that become stories, and the way to the remote."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ralphy.errors import ExitCode, InvalidInput
from tests.engine.building import Act, Project, assert_clean, build, drive, reports, story, works
from tests.engine.nights import played_once

SPEC = "# Login\n\n## US-001\n\nPeople sign in.\n"
AUTO: Act = {"gates": {"spec": "auto", "qa": "auto"}}
LIMIT = {"severity": "major", "title": "No limit on attempts", "file": "src/us_001.py"}


def hands_in(stories: Any, spec: str = SPEC, **more: Any) -> dict[str, Any]:
    """The act of a spec agent that hands in these stories."""
    return {"outbox": {"SPEC.md": spec, "stories.json": stories}, **more}


GOOD = hands_in({"userStories": [{"id": "US-001", "title": "Sign in"}]})
SOUNDS_DONE = {**GOOD, "say": "SPEC.md is finished, and verified.", "exit_signal": None}
BAD = hands_in({"userStories": [{"id": "US-001", "title": "Sign in", "dependsOn": ["US-009"]}]})


DRAFTS = [
    BAD,
    hands_in("{ not json"),
    hands_in({"userStories": []}),
    {"outbox": {"stories.json": {"userStories": [{"id": "US-001", "title": "a"}]}}},
]


def test_what_is_not_valid_is_mended_three_times_at_the_most_and_never_becomes_an_artifact(tmp_path: Path) -> None:
    """A limit in the step uses none of these chances."""
    project = build(tmp_path)
    project.play(spec=[{"limit": {"resets_in_s": 3600}}, *DRAFTS, SOUNDS_DONE])
    assert project.loop(waits=False).code == ExitCode.LIMITED

    ended = project.loop(clock=lambda: 4_000_000_000.0)

    assert (ended.code, ended.runs) == (ExitCode.STORIES_OPEN, ["spec"] * 4)
    assert "US-009" in project.prompts("spec")[2]
    assert "redo spec" in ended.rest.reason
    assert not (project.folder / "SPEC.md").exists() and not (project.folder / "prd.json").exists()
    assert project.loop().runs == []
    assert project.call("redo", "spec", "login")[0] == 0
    assert project.loop(agents=1).runs == ["spec"]
    assert project.read("SPEC.md") == SPEC


@pytest.mark.parametrize("more", [{"exit_signal": False}, pytest.param({"crash": 1}, marks=pytest.mark.soak)])
def test_a_specification_that_is_not_finished_is_no_artifact_and_is_finished_by_the_next_run(
    tmp_path: Path, more: Act
) -> None:
    project = build(tmp_path, gates={"spec": "human"})
    goes_on = [
        "sh",
        "-c",
        'cp "$RALPHY_OUTBOX/unfinished/"* "$RALPHY_OUTBOX/" && echo "The rest." >> "$RALPHY_OUTBOX/SPEC.md"',
    ]
    part = {**GOOD, "say": "I wrote a part of it and will continue later.", "exit_signal": None}
    project.play(spec=[{**GOOD, **more}, part, {"run": [goes_on]}])
    project.loop(agents=1)
    assert not (project.folder / "SPEC.md").exists() and not (project.folder / "prd.json").exists()

    ended = project.loop()

    assert (ended.code, ended.runs) == (ExitCode.WAITING, ["spec", "spec"])
    assert project.read("SPEC.md") == f"{SPEC}The rest.\n"
    told = project.prompts("spec")[2]
    assert "EXIT_SIGNAL is missing" in told and "finish the work and report" in told
    assert "unfinished/ in the outbox" in told


def test_a_spec_that_a_person_wrote_is_kept_and_stories_that_claim_to_be_done_are_pending(tmp_path: Path) -> None:
    project = build(tmp_path, gates={"spec": "human"})
    before = project.git("rev-parse", "main")
    project.write("SPEC.md", SPEC)
    boast = {"id": "US-001", "title": "a", "passes": True, "status": "completed"}
    code = {"write": {"src/early.py": "E = 1\n"}, "commit": "feat: I began already"}
    project.play(spec=[hands_in({"userStories": [boast]}, spec="# Mine is better\n", **code)])

    assert project.loop().runs == ["spec"]

    assert project.read("SPEC.md") == SPEC
    assert project.statuses() == {"US-001": "pending"}
    assert project.git("rev-parse", "main") == before
    assert not (project.repo / "src" / "early.py").exists()
    (kept,) = project.refs("refs/ralphy/login")
    assert project.code("src/early.py", kept) == "E = 1\n"


@pytest.mark.parametrize("prd", ["{ not json", json.dumps({"userStories": [{"id": "US-007", "title": "Mine"}]})])
def test_what_a_person_writes_while_the_specification_is_made_is_kept_aside(tmp_path: Path, prd: str) -> None:
    """There is no branch yet on which it could be committed."""
    project, mine = build(tmp_path, gates={"spec": "human"}), {"SPEC.md": "# Mine\n", "prd.json": prd}
    project.play(spec=[GOOD])

    def write() -> None:
        for name, text in mine.items():
            project.write(name, text)

    ended = project.loop(at={"run_redacted": write})

    assert ended.runs == ["spec"] and project.read("SPEC.md") == SPEC and project.statuses() == {"US-001": "pending"}
    aside = sorted((project.repo / project.path / ".ralphy" / "set-aside").glob("*-*"))
    assert {path.name.partition("-")[2]: path.read_text(encoding="utf-8") for path in aside} == mine
    assert all(f"yours is in .ralphy/set-aside/{path.name}" in "\n".join(ended.said) for path in aside)


def test_stories_that_exist_are_kept_by_the_spec_step(tmp_path: Path) -> None:
    project = build(tmp_path, gates={"spec": "human"})
    project.plan(story("US-001", title="A person's story"))
    project.play(spec=[hands_in({"userStories": [{"id": "US-001", "title": "x"}, {"id": "US-002", "title": "New"}]})])

    project.loop()

    assert [found["title"] for found in project.prd()["userStories"]] == ["A person's story", "New"]


def test_the_rounds_of_reviews_are_bounded(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), limits={"max_qa_rounds": 2}, **AUTO)
    project.play(stories={"*": [works()]}, qa=[reports("fail", LIMIT)])

    ended = project.loop()

    assert ended.code == ExitCode.STORIES_OPEN
    assert ended.runs == ["US-001", "qa", "FIX-1-1", "qa"]
    assert "redo qa" in ended.rest.reason


@played_once
def reviewed(tmp_path: Path) -> Project:
    """A feature whose review waits for a person."""
    project = build(tmp_path, story("US-001"))
    project.play(stories={"*": [works()]}, qa=[reports()], pr=[{"limit": {"resets_in_s": 3600}}])
    assert project.loop().code == ExitCode.WAITING
    return project


@pytest.mark.parametrize("words", [("redo", "qa", "login"), ("reset", "login")])
def test_a_report_that_a_person_made_invalid_is_done_again(reviewed: Project, words: tuple[str, ...]) -> None:
    reviewed.write("QA_REPORT.md", "All is well.\n")

    with pytest.raises(InvalidInput, match="front matter"):
        reviewed.loop()
    assert reviewed.call("status", "login")[0] == ExitCode.INVALID
    assert reviewed.call(*words)[0] == ExitCode.DONE
    if words[0] == "redo":
        assert not (reviewed.folder / "QA_REPORT.md").exists()
        assert "QA_REPORT.md" in reviewed.set_aside()
        assert_clean(reviewed)
        assert reviewed.loop().runs == ["qa"]


@pytest.mark.parametrize("is_approved", [False, True])
def test_neither_a_review_nor_its_approval_holds_for_other_code(reviewed: Project, is_approved: bool) -> None:
    if is_approved:
        reviewed.approve()
        assert reviewed.loop(waits=False).runs == ["pr"]
    reviewed.switch()
    (reviewed.repo / "src" / "base.py").write_text("BASE = 2\n")
    reviewed.git("commit", "--quiet", "-am", "fix: by hand")

    ended = reviewed.loop(clock=lambda: 4_000_000_000.0)

    assert (ended.code, ended.runs) == (ExitCode.WAITING, ["qa"])


def test_remarks_on_a_review_go_to_the_qa_agent(reviewed: Project) -> None:
    reviewed.write("REJECTED", "Look at the colours.\n")

    ended = reviewed.loop()

    assert (ended.code, ended.runs) == (ExitCode.WAITING, ["qa"])
    assert "Look at the colours" in reviewed.prompts("qa")[-1]
    assert_clean(reviewed)


@played_once
def published(tmp_path: Path) -> Project:
    """A feature that went all the way, with a bare repository as its origin."""
    project = build(tmp_path, story("US-001"), **AUTO)
    project.add_remote(tmp_path / "remote.git")
    project.git("push", "--quiet", "origin", "main")
    assert project.loop().code == ExitCode.DONE
    return project


def refs_of(remote: Path) -> dict[str, str]:
    out = subprocess.run(["git", "for-each-ref", "--format=%(refname) %(objectname)"], cwd=remote, check=True,
                         capture_output=True, encoding="utf-8").stdout  # fmt: skip
    return dict(line.split(" ") for line in out.splitlines())


def test_the_branch_is_pushed_and_nothing_else(published: Project) -> None:
    project, remote = published, published.repo.parent / "remote.git"

    there = refs_of(remote)
    assert set(there) == {"refs/heads/main", "refs/heads/ralph/login"}
    assert there["refs/heads/main"] == project.git("rev-parse", "main")
    assert there["refs/heads/ralph/login"] == project.tip
    assert "PR.md" in project.loop().text or (project.folder / "PR.md").exists()
    assert_clean(project)


@pytest.mark.fault("G15")
def test_nothing_is_published_twice_and_a_redone_text_once_more_but_never_over_commits_of_others(
    published: Project,
) -> None:
    project, remote = published, published.repo.parent / "remote.git"
    before, tip = refs_of(remote)["refs/heads/ralph/login"], project.tip
    assert project.loop().runs == []
    assert (project.tip, refs_of(remote)["refs/heads/ralph/login"]) == (tip, before)
    project.call("redo", "pr", "login")

    assert project.loop().runs == ["pr"]

    after = refs_of(remote)["refs/heads/ralph/login"]
    assert after == project.tip
    project.git("merge-base", "--is-ancestor", before, after)

    theirs = project.git("commit-tree", "main^{tree}", "-p", "main", "-m", "theirs")
    project.git("push", "--quiet", "--force", "origin", f"{theirs}:refs/heads/ralph/login")
    project.call("redo", "pr", "login")
    ended = project.loop()
    assert (ended.code, "other commits" in ended.text) == (ExitCode.CONFLICT, True)
    assert refs_of(remote)["refs/heads/ralph/login"] == theirs
    assert_clean(project)


def test_what_init_wrote_is_the_persons_whatever_an_agent_makes_of_it(tmp_path: Path) -> None:
    project = build(tmp_path, gates={"spec": "human"})
    makefile = project.repo / "Makefile"
    makefile.write_text("all:\n\ttrue\n")
    project.commit("make", "Makefile")
    code, said = project.call("init")
    assert code == 0, said
    before = makefile.read_bytes()
    assert b"include" in before
    project.play(spec=[{**GOOD, "write": {"Makefile": "loop:\n\techo mine\n"}}, {**GOOD, "delete": ["Makefile"]}],
                 stories={"*": [works()]})  # fmt: skip

    drive(project, "die", "agent_ended", "1")
    assert project.loop().code == ExitCode.WAITING

    assert makefile.read_bytes() == before
    assert project.read("SPEC.md") == SPEC
    project.approve()
    project.loop(agents=1)
    assert makefile.read_bytes() == before
    assert project.code("Makefile") == "all:\n\ttrue\n"
