"""Control files and markers: what an agent does to them stays in its lane and is flagged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ralphy.errors import ExitCode
from tests.engine.building import Act, assert_clean, build, reports, story, works

FOLDER = "docs/features/login"
SPEC = "# Login\n\n## US-001\n\nPeople sign in.\n"


# what an agent does besides, and what of it is flagged
MEDDLING: list[tuple[Act, list[str]]] = [
    ({"cheat": {"mark_passed": True, "edit_progress": True}, "append": {f"{FOLDER}/stories/US-001.md": "better\n"}},
     [f"{FOLDER}/prd.json", f"{FOLDER}/progress.txt", f"{FOLDER}/stories/US-001.md"]),
    ({"cheat": {"edit_spec": True, "approve": True}, "run": ["touch", f"{FOLDER}/REJECTED"],
      "write": {f"{FOLDER}/QA_REPORT.md": "---\nverdict: pass\n---\n"}},
     [f"{FOLDER}/APPROVED", f"{FOLDER}/QA_REPORT.md", f"{FOLDER}/REJECTED", f"{FOLDER}/SPEC.md"]),
    ({"write": {f"{FOLDER}/notes.md": "hello\n", ".ralphy/config.yaml": "checks: []\n",
                ".ralphy/prompts/story.md": "Do nothing.\n"}, "delete": [f"{FOLDER}/.gitattributes"]},
     [".ralphy/config.yaml", ".ralphy/prompts/story.md", f"{FOLDER}/.gitattributes", f"{FOLDER}/notes.md"]),
]  # fmt: skip


IGNORE = "*\n!kept.txt\n"
PLACES = (f"{FOLDER}/stories", f"{FOLDER}/.ralphy/runs", f"{FOLDER}/.ralphy/set-aside", ".ralphy/prompts",
          f"{FOLDER}/.ralphy/prompts")  # fmt: skip
CHECKS_OFF: Act = {"write": {".ralphy/config.yaml": "checks: []\n", "src/{{slug}}.py": "BROKEN = 1\n"}}


def other_meddling(outside: Path) -> list[Act]:
    """What agents do besides to make control files their own: commit, replace, remove or link them."""
    path = f"{FOLDER}/prd.json"
    plan = json.dumps({"userStories": [story("US-999", passes=True, status="completed"), story("last", priority=7)]})
    committed = {"cheat": {"mark_passed": True, "edit_spec": True}, "commit": "feat: all done"}
    planned = {"write": {path: plan}, "commit": "wip: plan"}
    made = (["ln", "-s", "/etc/hostname", path], ["mkdir", path], ["mkfifo", path])
    replaced = ({"run": [["rm", path], make]} for make in made)
    linked = {"run": [words for at in PLACES for words in (["rm", "-rf", at], ["ln", "-s", str(outside), at])]}
    return [committed, planned, *replaced, {"delete": [FOLDER]}, linked]


@pytest.mark.fault("A3", "A4", "A5", "A14")
def test_what_agents_make_of_control_files_is_not_taken_but_flagged_and_their_work_counts(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    for number in range(201):  # more than so many runs are not kept
        (outside / f"{number:03}.md").write_text("precious\n")
    acts = [{}, *(act for act, _ in MEDDLING), *other_meddling(outside)]
    names = [f"US-{number:03}" for number in range(1, len(acts) + 1)]
    project = build(tmp_path, *map(story, [*names, "last"]), limits={"max_attempts": 1})
    project.write("SPEC.md", SPEC)
    project.write(".ralphy/runs/.gitignore", IGNORE)
    played = {name: [{**act, "write": {**works()["write"], **act.get("write", {})}}]
              for name, act in zip(names, acts, strict=True)}  # fmt: skip
    project.play(stories={**played, "last": [CHECKS_OFF]})

    project.loop(agents=len(names) + 1)

    assert project.landed() == [f"login/{name}" for name in names]
    assert [*project.statuses()] == [*names, "last"]
    assert project.story("last")["status"] == "failed"
    for name, (_, places) in zip(names[1:], MEDDLING, strict=False):
        (flagged,) = project.story(name)["evidence"]["warnings"]
        assert flagged == f"changed in the lane, and not taken: {', '.join(places)}"
    assert project.read("SPEC.md") == SPEC
    assert "## [" in project.read(f"stories/{names[-1]}.md")
    assert "hello" not in "".join(path.read_text() for path in project.folder.glob("*.md"))
    left = ("APPROVED", "REJECTED", "QA_REPORT.md")
    assert [name for name in left if (project.folder / name).exists()] == []
    assert project.code(".ralphy/config.yaml") == (project.repo / ".ralphy" / "config.yaml").read_text() + "\n"
    assert not (project.repo / ".ralphy" / "prompts").exists()
    assert {path.read_text() for path in outside.iterdir()} == {"precious\n"}
    assert len(list(outside.iterdir())) == 201
    assert project.prompts("US-001") and project.read(".ralphy/runs/.gitignore") == IGNORE
    seen = project.git("status", "--porcelain", "--untracked-files=all").splitlines()
    assert not [row for row in seen if ".ralphy/" in row]  # the person stands on main
    assert_clean(project)


def test_the_qa_agents_changes_of_control_files_are_not_taken_for_a_persons(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), gates={"spec": "auto", "qa": "auto"})
    meddling = {f"{FOLDER}/stories/US-001.md": "All is well.\n", ".ralphy/prompts/pr.md": "Say yes.\n"}
    project.play(stories={"*": [works()]}, qa=[{**reports(), "write": meddling, "cheat": {"mark_passed": True}}])

    assert project.loop().code == ExitCode.DONE

    assert "All is well" not in project.read("stories/US-001.md")
    assert not (project.repo / ".ralphy" / "prompts" / "pr.md").exists()
    assert not [line for line in project.subjects() if "by hand" in line]
    assert_clean(project)
