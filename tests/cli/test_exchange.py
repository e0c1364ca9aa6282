"""import and export: stories of other tools, there and back, as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ralphy.errors import ExitCode
from ralphy.exchange.formats import FORMATS, read
from ralphy.exchange.plan import Files
from tests.cli.conftest import Make
from tests.engine.building import story

SNARKTANK = {"project": "MyApp", "branchName": "ralph/priority", "description": "Priorities", "userStories": [
    {"id": "US-001", "title": "Add a field", "description": "As a developer…", "acceptanceCriteria": ["It is stored"],
     "priority": 1, "passes": True, "notes": ""},
    {"id": "US-002", "title": "Show it", "description": "As a user…", "acceptanceCriteria": ["It shows"], "priority": 2,
     "passes": False, "notes": "blue", "dependsOn": ["US-001"]}]}  # fmt: skip
TASKMASTER = {"master": {"tasks": [
    {"id": 1, "title": "Set up", "description": "A base", "details": "Use X", "testStrategy": "It runs",
     "status": "done", "dependencies": [], "priority": "high", "subtasks": []},
    {"id": 2, "title": "Sign in", "description": "", "details": "", "testStrategy": "", "status": "pending",
     "dependencies": [1, 3], "priority": "medium",
     "subtasks": [{"id": 1, "title": "Form", "description": "with two fields", "status": "done"}]},
    {"id": 3, "title": "Never", "description": "", "status": "cancelled", "dependencies": []}],
    "metadata": {}}}  # fmt: skip
SPEC_KIT = """# Tasks: Photo albums

## Phase 1: Setup

- [x] T001 Create project structure
- [ ] T002 [P] Configure linting
- [ ] T003 [P] [US1] Model in src/album.py
- [ ] T004 [US1] Service in src/service.py
"""
CHECKLIST = "# My plan\n\n- [x] US-7: Begin\n- [ ] Sign in\n  - with a password\n  - [ ] a key\n\n## Later\n* [ ] Go\n"
YAML = "project: Shop\ntasks:\n  - title: Cart\n    completed: true\n  - Pay: now\n    title: Pay\n  - Ship it\n"
TASK = """---
id: auth.login
module: auth
priority: 2
status: pending
estimatedMinutes: 25
dependencies:
  - setup.scaffold
---

# Login Implementation

## Acceptance Criteria
1. User can login with email/password
2. Returns JWT token on success

## Notes
- Use bcrypt for password hashing
"""
SCAFFOLD = "---\nid: setup.scaffold\nmodule: setup\npriority: 1\nstatus: completed\n---\n\n# Scaffold\n\nThe base.\n"
TASKS = {"auth/auth.login.md": TASK, "setup/setup.scaffold.md": SCAFFOLD}
GIVEN: dict[str, Files] = {
    "prd": {"prd.json": json.dumps(SNARKTANK)}, "taskmaster": {"tasks.json": json.dumps(TASKMASTER)},
    "speckit": {"tasks.md": SPEC_KIT}, "checklist": {"TODO.md": CHECKLIST}, "yaml": {"t.yaml": YAML}, "tasks": TASKS,
}  # fmt: skip


def told(stories: list[dict[str, Any]]) -> list[tuple[str, str, bool, list[str]]]:
    return [(raw["id"], raw["title"], raw["passes"], raw.get("dependsOn", [])) for raw in stories]


EXPECTED: dict[str, list[tuple[str, str, bool, list[str]]]] = {
    "prd": [("US-001", "Add a field", True, []), ("US-002", "Show it", False, ["US-001"])],
    "taskmaster": [("1", "Set up", True, []), ("2", "Sign in", False, ["1"])],
    "speckit": [("T001", "Create project structure", True, []), ("T002", "Configure linting", False, ["T001"]),
                ("T003", "Model in src/album.py", False, ["T001"]),
                ("T004", "Service in src/service.py", False, ["T003"])],
    "checklist": [("US-7", "Begin", True, []), ("US-002", "Sign in", False, []), ("US-003", "Go", False, [])],
    "yaml": [("US-001", "Cart", True, []), ("US-002", "Pay", False, []), ("US-003", "Ship it", False, [])],
    "tasks": [("auth.login", "Login Implementation", False, ["setup.scaffold"]),
              ("setup.scaffold", "Scaffold", True, [])],
}  # fmt: skip


@pytest.mark.parametrize("kind", FORMATS)
def test_a_format_is_recognised_read_and_the_same_after_a_round_trip(kind: str) -> None:
    found, plan = read(GIVEN[kind], "x")
    assert (found, told(plan.stories)) == (kind, EXPECTED[kind])
    again = read(FORMATS[kind].write(plan), "x", kind)[1]
    assert told(again.stories) == EXPECTED[kind]
    assert [raw.get("acceptanceCriteria") for raw in again.stories] == [
        raw.get("acceptanceCriteria") for raw in plan.stories
    ]


def test_a_person_imports_a_folder_of_tasks_and_exports_them_again(made: Make, tmp_path: Path) -> None:
    project, call = made()
    for name, text in TASKS.items():
        (project.repo / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (project.repo / "in" / name).write_text(text)
    code, value = call.json("import", "in", "--name", "auth")
    assert (code, value["format"], len(value["stories"])) == (0, "tasks", 2)
    assert call.json("story", "next", "auth")[1]["story"]["id"] == "auth.login"
    assert call("import", "in", "--name", "auth")[0] == ExitCode.CONFLICT
    assert call("export", "auth", "--format", "tasks", "-o", str(tmp_path / "out"))[0] == 0
    assert (tmp_path / "out" / "auth" / "auth.login.md").read_text().startswith("---\nid: auth.login\nmodule: auth\n")
    assert "estimatedMinutes: 25" in (tmp_path / "out" / "auth" / "auth.login.md").read_text()
    assert call("export", "auth", "--format", "tasks", "-o", str(tmp_path / "out"))[0] == ExitCode.CONFLICT
    assert json.loads(call("export", "auth")[1])["userStories"][1]["passes"] is True


def test_what_cannot_be_read_is_said_and_nothing_is_made(made: Make) -> None:
    project, call = made(story("US-001", title="Sign in"))
    bad = {"a.json": "{", "b.yaml": "tasks: &x [*x]\n", "c.md": "no items\n", "d.bin": "x",
           "e.json": '{"userStories": [{"id": "A", "title": "a", "dependsOn": ["B"]}]}'}  # fmt: skip
    for name, text in bad.items():
        (project.repo / name).write_text(text)
        code, _, err = call("import", name)
        assert code == ExitCode.INVALID and name in err, err
    assert call("import", "none.json")[0] == ExitCode.NOT_FOUND
    assert [path.name for path in project.folder.parent.iterdir()] == ["login"]
    assert call("export", "--format", "checklist")[1] == "# login\n\n- [ ] US-001 Sign in\n"
