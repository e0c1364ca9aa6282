"""Gates: what opens them, what does not, and what an edit on either side of them means."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ralphy.errors import ExitCode, InvalidInput
from tests.engine.building import Act, Project, assert_clean, build, story, works
from tests.engine.nights import played_once
from tests.sampling import sampled

HUMAN: Act = {"gates": {"spec": "human", "qa": "human"}}


@played_once
def waiting(tmp_path: Path) -> Project:
    """A feature whose SPEC.md was written by the spec agent and is ready for review."""
    project = build(tmp_path, **HUMAN)
    ended = project.loop()
    assert (ended.code, ended.rest.reason[:16]) == (ExitCode.WAITING, "SPEC.md is ready"), ended.text
    return project


@pytest.mark.parametrize("base", sampled(["main", "trunk"], "trunk"))
def test_a_second_feature_beside_the_first_ones_branch_begins_at_the_base_or_says_why_it_cannot(
    tmp_path: Path, base: str
) -> None:
    project = build(tmp_path, story("US-001"))
    project.git("branch", "--move", base)
    project.loop(agents=1)
    project.switch()
    second = replace(project, path="docs/features/search")
    second.plan(story("US-001"))

    code, said = second.call("loop", "search")

    where = "ralph/login, the branch of a feature, is checked out"
    if base == "main":
        assert (code, f"{where}: ralph/search begins at main" in said) == (ExitCode.WAITING, True), said
        assert second.landed() == ["search/US-001"]
    else:
        assert (code, f"{where}, and no base branch is known" in said) == (ExitCode.CONFLICT, True), said
        second.call("config", "set", "git.base", base)
        assert second.call("loop", "search", "--max-iterations", "1")[0] == ExitCode.BUDGET
        assert second.commit_of("US-001")


@pytest.mark.fault("M3", "S1")
def test_approved_opens_the_gate_is_consumed_and_the_branch_begins_with_the_feature_folder(waiting: Project) -> None:
    assert waiting.git("symbolic-ref", "--short", "HEAD") == "main"
    waiting.approve()
    waiting.git("reset", "--hard", "--quiet")  # takes nothing of it

    ended = waiting.loop(agents=2)

    assert ended.runs == ["US-001", "US-002"]
    assert not (waiting.folder / "APPROVED").exists()
    first = waiting.git("rev-list", "--reverse", "main..ralph/login").split()[0]
    names = [name.rsplit("/", 1)[-1] for name in waiting.files_of(first)]
    assert {"PRD.md", "SPEC.md", "prd.json", ".gitignore"} <= set(names)
    assert "APPROVED" not in names
    assert waiting.trailer("Ralphy-Event", first) == "branch login"
    (said,) = waiting.prd()["workflow"]["approvals"]
    assert (said["gate"], said["verdict"], len(said["digest"])) == ("spec", "approved", 64)
    assert_clean(waiting)


@pytest.mark.parametrize("named", sampled([{}, {"branchName": "sign-in"}], {"branchName": "sign-in"}))
def test_a_base_that_has_no_usual_name_is_known_to_the_end_and_never_worked_on(tmp_path: Path, named: Act) -> None:
    project = build(tmp_path, gates={"spec": "auto", "qa": "auto"})
    project.git("branch", "--move", "trunk")
    project.plan(story("US-001"), branchName="trunk")
    with pytest.raises(InvalidInput, match="which is the base branch"):
        project.loop()
    assert project.git("log", "--format=%s", "-1", "trunk") == "chore: settings"
    project.plan(story("US-001"), **named)
    project.add_remote(tmp_path / "remote.git")

    ended = [project.loop(last_step="qa"), project.loop()]

    assert [end.code for end in ended] == [ExitCode.DONE, ExitCode.DONE]
    assert project.prd()["workflow"]["base"] == "trunk"
    assert "git diff --stat trunk...HEAD" in project.prompts("pr")[0]
    pushed = project.git("ls-remote", "--heads", "origin").split()[1::2]
    assert pushed == [f"refs/heads/{named.get('branchName', 'ralph/login')}"]


@pytest.mark.fault("S1")
def test_a_marker_of_a_person_before_the_gate_or_of_an_agent_is_no_approval(tmp_path: Path) -> None:
    """The agent makes one in its lane and one in the checkout."""
    project = build(tmp_path, **HUMAN)
    project.approve()
    touch = ["touch", str(project.folder / "APPROVED")]
    project.play(spec=[{"default": True, "cheat": {"approve": True}, "run": touch}])

    ended = project.loop()

    assert (ended.code, ended.runs) == (ExitCode.WAITING, ["spec"])
    assert "APPROVED: set aside, as it was made before this run" in ended.text
    assert "put back" not in ended.text
    kept = project.set_aside()  # two of one second stand in one folder, the second with a number before its name
    assert [name.rpartition("-")[2] for name in kept] == ["APPROVED"] * 2
    assert not (project.folder / "APPROVED").exists()


@pytest.mark.parametrize("name", ["APROVED", "APPROVE", "approved", "APPROVED.txt", "REJECT"])
def test_a_misspelt_marker_is_named_and_becomes_no_document(waiting: Project, name: str) -> None:
    (waiting.folder / name).touch()
    (waiting.folder / "APPROVALS").touch()

    ended = waiting.loop()

    assert (ended.code, ended.runs) == (ExitCode.WAITING, [])
    meant = "REJECTED" if name == "REJECT" else "APPROVED"
    assert f"{name} looks like a misspelt {meant} (`touch {waiting.folder}/{meant}`): moved to" in ended.text
    assert not (waiting.folder / name).exists()
    assert (waiting.folder / "APPROVALS").exists()


@pytest.mark.fault("S1")
def test_what_is_no_ordinary_file_or_from_the_future_is_no_approval(
    waiting: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker, document = waiting.folder / "APPROVED", waiting.folder / "PRD.md"
    kinds: tuple[Callable[[], object], ...] = (
        lambda: marker.symlink_to("PRD.md"),
        marker.mkdir,
        lambda: marker.hardlink_to(document),
        lambda: os.mkfifo(marker),
        lambda: marker.write_bytes(b"x" * 70_000),
    )
    for number, make in enumerate(kinds, start=1):
        make()

        ended = waiting.loop()

        assert (ended.code, ended.runs) == (ExitCode.WAITING, [])
        assert not os.path.lexists(marker)
        assert len(waiting.set_aside()) == number
        assert any("APPROVED" in line or "is a" in line or "link" in line for line in ended.said)

    waiting.approve()
    made = marker.stat().st_ctime
    with monkeypatch.context() as patch:  # no call can set a ctime: the clock is put back instead
        patch.setattr("time.time", lambda: made - 3600.0)
        ended = waiting.loop()
    assert (ended.code, ended.runs) == (ExitCode.WAITING, [])
    assert "has a time in the future" in ended.text


def test_a_spec_edited_after_its_approval_opens_the_gate_again_and_a_prd_names_redo(waiting: Project) -> None:
    waiting.approve()
    waiting.play(stories={"US-001": [works()], "US-002": [{"limit": {"resets_in_s": 3600}}, works()]})
    waiting.loop(waits=False)
    waiting.write("SPEC.md", waiting.read("SPEC.md") + "\nOne more thing.\n")
    spec = waiting.read("SPEC.md")

    ended = waiting.loop(clock=lambda: 4_000_000_000.0)
    assert (ended.code, ended.runs) == (ExitCode.WAITING, [])
    assert "changed since it was approved" in ended.rest.reason
    waiting.approve()
    assert waiting.loop(clock=lambda: 4_000_000_000.0).runs == ["US-002", "qa"]
    assert_clean(waiting)

    waiting.write("PRD.md", "# Login\n\n## Objective\n\nPeople sign in twice.\n")
    ended = waiting.loop()
    assert (ended.code, ended.runs) == (ExitCode.WAITING, [])
    assert "redo spec" in ended.rest.reason
    assert waiting.read("SPEC.md") == spec
    assert_clean(waiting)
    waiting.approve()
    assert waiting.loop().rest.reason.startswith("QA_REPORT.md is ready for review")


def test_remarks_and_a_prd_edited_before_the_approval_make_the_spec_again(waiting: Project) -> None:
    waiting.write("REJECTED", "Say what happens to a wrong password.\n")

    ended = waiting.loop()

    assert (ended.code, ended.runs) == (ExitCode.WAITING, ["spec"])
    assert "what happens to a wrong password" in waiting.prompts("spec")[-1]
    assert not (waiting.folder / "REJECTED").exists()
    assert waiting.journal("rejected")[0]["text"] == "Say what happens to a wrong password."
    waiting.write("PRD.md", "# Login\n\n## Objective\n\nPeople sign in twice.\n")
    assert waiting.loop().runs == ["spec"]
    waiting.approve()
    assert waiting.loop(agents=1).runs == ["US-001"]


@pytest.mark.fault("M3")
def test_an_empty_rejected_beats_approved_and_ends_the_feature_until_the_spec_is_edited(waiting: Project) -> None:
    waiting.approve()
    (waiting.folder / "REJECTED").touch()

    ended = waiting.loop()

    assert (ended.code, ended.runs) == (ExitCode.STORIES_OPEN, [])
    assert "rejected" in ended.rest.reason
    assert waiting.loop().code == ExitCode.STORIES_OPEN
    waiting.write("SPEC.md", "# Better\n\n## US-001\n")
    assert waiting.loop().code == ExitCode.WAITING
    waiting.approve()
    assert waiting.loop(agents=1).runs == ["US-001"]


def test_a_stop_file_ends_the_loop_is_consumed_and_named_an_agents_where_one_can_have_made_it(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), story("US-002"))
    in_the_lane = ["touch", "docs/features/login/STOP"]
    project.play(stories={"US-001": [works(run=["touch", str(project.folder / "STOP")])],
                          "US-002": [works(run=in_the_lane)]})  # fmt: skip

    ended = project.loop()

    assert (ended.code, ended.runs) == (ExitCode.INTERRUPTED, ["US-001"])
    assert project.landed() == ["login/US-001"]
    assert not (project.folder / "STOP").exists()
    assert "STOP was created during the run" in ended.text
    assert [line["during"] for line in project.journal("stopped")] == [project.trailer("Ralphy-Run")]

    (project.folder / "STOP").touch()
    ended = project.loop()
    assert (ended.code, ended.runs) == (ExitCode.INTERRUPTED, [])
    assert "agent" not in ended.text
    assert ["during" in line for line in project.journal("stopped")] == [True, False]
    assert project.loop().runs == ["US-002", "qa"]
    assert not [path for path in project.code_files() if path.endswith("STOP")]


@pytest.mark.fault("M4")
def test_a_person_changes_the_plan_between_two_loops(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), story("US-002"), limits={"max_iterations": 1})
    project.loop()
    prd = project.prd()
    prd["userStories"].append(story("US-003", priority=0))
    prd["userStories"][1]["title"] = "Another title"
    project.plan(*prd.pop("userStories"), **prd)

    assert project.loop().runs == ["US-003"]

    assert project.subjects("chore(login): changes by hand")
    assert project.loop().runs == ["US-002"]
    assert project.subjects("feat(login): US-002 Another title")
    assert_clean(project)


@pytest.mark.fault("M4")
def test_a_prd_json_broken_at_a_gate_is_exit_3_and_nothing_is_touched(waiting: Project) -> None:
    waiting.approve()
    broken = waiting.read("prd.json").replace('"priority"', '"priority": 1, "priority"', 1)
    waiting.write("prd.json", broken)

    code, said = waiting.call("loop", "login")

    assert code == ExitCode.INVALID
    assert "docs/features/login/prd.json" in said
    assert waiting.read("prd.json") == broken
    assert (waiting.folder / "APPROVED").exists()


@pytest.mark.fault("M4")
def test_a_prd_json_that_is_broken_during_a_loop_waits_for_its_repair(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), story("US-002"))

    ended = project.loop(at={"end_recorded": lambda: project.write("prd.json", "{")})

    assert (ended.code, project.landed()) == (ExitCode.WAITING, ["login/US-001"])
    assert ended.rest.reason.startswith("docs/features/login/prd.json:1: ")
    assert "brings back the last one that was committed" in ended.rest.reason
    assert project.read("prd.json") == "{"
    (project.folder / "prd.json").unlink()
    project.loop()
    assert project.landed() == ["login/US-001", "login/US-002"]
