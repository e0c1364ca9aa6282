"""import and export: stories of other tools, and prd.json for them, as a person calls it."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralphy.documents.prd_reader import prd_problems
from ralphy.errors import ExitCode, InvalidInput
from ralphy.exchange.formats import read
from tests.adapters.test_forge import find_gh, gh_environment
from tests.cli.conftest import Make
from tests.cli.test_brought import BROUGHT
from tests.doubles.github_api import GitHubApi, loopback_github
from tests.engine.building import story

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


def told(stories: list[dict[str, Any]]) -> list[tuple[str, str, bool, list[str]]]:
    return [(raw["id"], raw["title"], raw["passes"], raw.get("dependsOn", [])) for raw in stories]


def test_a_change_of_openspec_names_the_feature_and_its_sections_hold_the_tasks(made: Make) -> None:
    project, call = made(story("US-001"))
    shutil.copytree(BROUGHT / "openspec", project.repo / "openspec" / "changes" / "add-loans")
    code, value = call.json("import", "openspec/changes/add-loans")
    assert (code, value["format"], value["feature"]) == (0, "openspec", "lend-books")
    assert [task["description"] for task in value["stories"][0]["tasks"]] == [
        "1.1 Add a table of loans", "1.2 Forbid two loans of one book",
    ]  # fmt: skip
    assert call.json("story", "next", "lend-books")[1]["story"]["id"] == "OS-2"


def an_issue(number: int, title: str, body: str | None, *labels: str, **more: Any) -> dict[str, Any]:
    return {"number": number, "title": title, "body": body, "state": "open",
            "labels": [{"name": name} for name in labels], **more}  # fmt: skip


@pytest.fixture
def forge() -> Iterator[GitHubApi]:
    with loopback_github() as running:
        yield running


@pytest.mark.real_gh
@pytest.mark.skipif(find_gh() is None, reason="gh is not installed (the dev extra brings it)")
def test_issues_of_github_are_imported_and_those_that_cannot_be_read_say_why(
    made: Make, forge: GitHubApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, call = made(story("US-001"))
    for name, setting in gh_environment(forge).items():
        monkeypatch.setenv(name, setting)
    body = "<!-- a form -->\r\nA mail with a link.\r\nBlocked by #7 and #3.\r\n\r\n- [ ] An old link is refused\r\n"
    forge.world.issues = [
        an_issue(12, "Reset a password", body, "ready"), an_issue(7, "Mail", None, "ready"), an_issue(8, "Other", "x"),
        *(an_issue(100 + number, "Ours", "x", pull_request={"url": "x"}) for number in range(150)),
        an_issue(9, "A pull request", "x", "ready", pull_request={"url": "x"}), an_issue(300, "The last", "x"),
    ]  # fmt: skip

    code, value = call.json("import", "github:acme/widget", "--label", "ready")

    assert (code, value["format"], value["feature"]) == (0, "github", "widget")
    assert told(value["stories"]) == [("GH-7", "Mail", False, []), ("GH-12", "Reset a password", False, ["GH-7"])]
    second = value["stories"][1]
    assert (second["acceptanceCriteria"], second["notes"]) == (["An old link is refused"], "acme/widget#12")
    assert second["description"] == "A mail with a link.\nBlocked by #7 and #3."
    assert value["left_out"] == ["acme/widget#12: GH-12 depends on GH-3, which is not among these issues"]
    assert (project.repo / "docs/features/widget/prd.json").exists()
    every = call.json("import", "github:acme/widget", "--dry-run", "--name", "all")[1]["stories"]
    assert [row["id"] for row in every] == ["GH-7", "GH-8", "GH-12", "GH-300"]  # on two pages
    assert "next: ralphy plan reset-a-password" in call("import", "github:acme/widget#12", "--dry-run")[1]

    for words in (["github:acme/widget#99"], ["github:acme/widget", "--label", "nobody"], ["github:acme/other"]):
        assert (words, call("import", *words)[0]) == (words, ExitCode.NOT_FOUND)
    assert call("import", "github:acme")[0] == ExitCode.INVALID
    assert call("import", "TODO.md", "--label", "ready")[0] == ExitCode.INVALID
    monkeypatch.setenv("GH_TOKEN", "bad")
    code, _, said = call("import", "github:acme/widget#12")
    assert code == ExitCode.ENVIRONMENT and "gh cannot read the issues" in said


def test_a_person_imports_a_folder_of_tasks_and_exports_a_prd(made: Make, tmp_path: Path) -> None:
    project, call = made()
    for name, text in TASKS.items():
        (project.repo / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (project.repo / "in" / name).write_text(text)
    code, value = call.json("import", "in", "--name", "auth")
    assert (code, value["format"], len(value["stories"])) == (0, "tasks", 2)
    assert call.json("story", "next", "auth")[1]["story"]["id"] == "auth.login"
    assert call("import", "in", "--name", "auth")[0] == ExitCode.CONFLICT
    text = call("export", "auth")[1]
    assert [row["passes"] for row in json.loads(text)["userStories"]] == [False, True]
    assert call.json("export", "auth")[1]["files"] == {"prd.json": text}


def test_issues_of_beads_keep_their_words_and_ranks_and_what_lies_beside_a_list_of_tasks_is_named() -> None:
    beads, tasks = ((BROUGHT / name).read_text(encoding="utf-8") for name in ("beads.jsonl", "speckit.md"))
    plan = read({"issues.jsonl": beads}, "x")[1]
    assert [raw["priority"] for raw in plan.stories] == [2, 1, 5, 1]
    assert plan.stories[-1]["description"] == "With a key.\n```\ncode\n```"
    assert read({"plan.md": "# Plan\n", "tasks.md": tasks}, "specs/001-list")[1].left_out[-1] == "plan.md: not read"


REFUSED = {
    "s.json": ('[{"title": "a", "dependsOn": false}]', "s.json:1: [0].dependsOn is false but must be a list of ids"),
    "b.json": ('[{"title": "a", "passes": "maybe"}]', 'b.json:1: [0].passes is "maybe" but must be true or false'),
    "c.json": ('[{"title": "a",\n"status": "almost"}]', 'c.json:2: [0].status is "almost" but must be a status such'),
    "e.json": ('{"tasks": [{"id": 1, "title": "a"},\nnull]}', "e.json:2: tasks[1] is null but must be an object"),
    "f.json": ('[{"id": 1, "title": "a", "priority": "soon"}]', 'f.json:1: [0].priority is "soon" but must be 0, a'),
    "g.json": ('[{"id": "A", "title": "a"},\n{"id": "a", "title": "b"}]', 'g.json:2: a: id is "a", the same as'),
    "h.json": ('[{"id": true, "title": "a"}]', "h.json:1: [0].id is true but must be a text or a number"),
    "i.json": ('[{"title": "a", "dependsOn": [{}]}]', "i.json:1: [0].dependsOn[0] is an object but must be the id"),
    "e.yaml": ("a: 1\n", "e.yaml:1: the document has no list of stories (looked for tasks, userStories, stories"),
    "l.yaml": ("- {id: 4}\n", "l.yaml:1: [0] has no title"),
    "m.md": ("---\nid: a\nstatus: soon\n---\n", 'm.md:3: status is "soon" but must be a status such'),
    "n.md": ("---\nmodule: a\n---\n", "n.md:2: the document has no id"),
    "p.jsonl": ('{"id": "b-1", "title": "a"}\n{"id": "b-2"}\n', "p.jsonl:2: [1] has no title"),
    "q.jsonl": ('\n{"id": \n', "q.jsonl:2: is not JSON"),
    "o.yaml": ("- title: a\n  notes: [1]\n", "o.yaml:1: US-001: notes is an array but must be a string"),
}  # fmt: skip


UNREADABLE = {"x.json": "{", "b.yaml": "tasks: &x [*x]\n", "c.md": "no items\n", "d.bin": "x",
              "x2.json": '{"userStories": [{"id": "A", "title": "a", "dependsOn": ["B"]}]}'}  # fmt: skip


def test_what_an_import_cannot_understand_is_refused_with_file_and_line_and_nothing_is_made(made: Make) -> None:
    project, call = made(story("US-001"))
    for name, (text, said) in {**REFUSED, **{name: (text, name) for name, text in UNREADABLE.items()}}.items():
        (project.repo / name).write_text(text, encoding="utf-8")
        code, _, err = call("import", name)
        assert code == ExitCode.INVALID and said in err, err
    assert call("import", "none.json")[0] == ExitCode.NOT_FOUND
    assert [path.name for path in project.folder.parent.iterdir()] == ["login"]


FIELDS = ["id", "story_id", "title", "name", "description", "done", "passes", "status", "priority", "dependsOn",
          "tasks", "dependencies", "subtasks", "testStrategy", "meta", "userStories", "stories", "acceptanceCriteria",
          "notes", "module", "project", "evidence", "due", "features", "steps"]  # fmt: skip
LEAVES = [None, True, False, 0, 5, -1, 1.5, 2**80, "", "a", "A-1: b", "done", "high", "true", "~"]
ANYTHING = st.recursive(
    st.sampled_from(LEAVES),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inside, max_size=4),
    max_leaves=8,
)


@settings(deadline=None)
@given(ANYTHING, st.sampled_from(["prd", "taskmaster", "yaml", "tasks"]), st.booleans())
def test_any_value_is_a_plan_or_a_refusal(value: Any, kind: str, is_row: bool) -> None:
    root = {"userStories": [value], "tasks": [value], "stories": [value]} if is_row else value
    dumped = json.dumps(root)  # which is YAML, too
    name, text = {"yaml": ("t.yaml", dumped), "tasks": ("a.md", f"---\n{dumped}\n---\n\n# A\n")}.get(
        kind, ("t.json", dumped)
    )
    with contextlib.suppress(InvalidInput):
        plan = read({name: text}, "x", kind)[1]
        assert len(plan.places) == len(plan.stories)
        prd_problems(plan.document())
