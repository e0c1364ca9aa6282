"""The embedded scenario plays a whole night on a repository that knows nothing of it."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from ralphy.rehearsal.context import Context
from ralphy.rehearsal.default import usual_turn
from ralphy.scaffold.writer import prd_text
from tests.conftest import RunGit
from tests.rehearsal.conftest import Rehearse

PRD = """\
# PRD: Sign in with a password

## Objective

People come back and are known.

## Stories

- **US-001**: store people with [hashed](x) passwords
- [ ] show a sign-in form
* a wrong password says so
  - nested detail

```
- not a wish
```

## Out of scope

- two-factor sign-in
"""


@pytest.fixture
def folder(rehearse: Rehearse) -> Path:
    folder = rehearse.cwd / "docs" / "features" / "login"
    folder.mkdir(parents=True)
    (folder / "PRD.md").write_text(PRD)
    return folder


def specify(prd: str, tmp_path: Path) -> list[dict[str, Any]]:
    """The stories that the spec step makes of a PRD."""
    (tmp_path / "PRD.md").write_text(prd)
    context = Context(tmp_path, step="spec", feature="login", feature_dir=str(tmp_path))
    stories: list[dict[str, Any]] = usual_turn(context)["outbox"]["stories.json"]["userStories"]
    return stories


def test_the_spec_step_makes_stories_of_the_bullet_points(rehearse: Rehearse, folder: Path) -> None:
    rehearse.step = "spec"
    assert rehearse().code == 0
    stories = json.loads((rehearse.outbox / "stories.json").read_text())["userStories"]
    assert [story["id"] for story in stories] == ["US-001", "US-002", "US-003"]
    assert [story["title"] for story in stories] == [
        "store people with hashed passwords",
        "show a sign-in form",
        "a wrong password says so",
    ]
    assert [story["dependsOn"] for story in stories] == [[], [], ["US-001"]]
    spec = (rehearse.outbox / "SPEC.md").read_text()
    assert spec.startswith("# Sign in with a password: specification\n")
    assert spec.count("\n## US-00") == 3
    assert stories[1]["context"] == {"parent_spec": "SPEC.md#us-002-show-a-sign-in-form"}


def test_stories_that_exist_keep_their_ids(rehearse: Rehearse, folder: Path) -> None:
    kept = {"id": "PAY-7", "title": "Pay", "acceptanceCriteria": [{"description": "money moves", "done": False}]}
    (folder / "prd.json").write_text(json.dumps({"userStories": [{**kept, "passes": False, "status": "pending"}]}))
    rehearse.step = "spec"
    rehearse()
    stories = json.loads((rehearse.outbox / "stories.json").read_text())["userStories"]
    assert stories == [{**kept, "context": {"parent_spec": "SPEC.md#pay-7-pay"}}]
    assert "## PAY-7 Pay\n\n\n\nAcceptance:\n\n- money moves" in (rehearse.outbox / "SPEC.md").read_text()


@pytest.mark.parametrize(
    ("prd", "titles"),
    [
        ("", ["login", "Rehearse login (2)"]),
        (f"- {'word ' * 20}\n- {'x' * 90}\n", [("word " * 14).strip(), "x" * 72]),
        ("# Just a title\n\nText.", ["Just a title", "Rehearse Just a title (2)"]),
        (
            prd_text("Add a note to each receipt"),
            ["Add a note to each receipt", "Rehearse Add a note to each receipt (2)"],
        ),
        ("# T\n\n- only one", ["only one", "Rehearse T (2)"]),
        ("# T\n\n## Search\n\n## Filter\n\n## Risks", ["Search", "Filter"]),
        ("1. one\n2. two\n3. three\n4. four\n5. five\n6. six\n", ["one", "two", "three", "four", "five"]),
        ("- a\x1b[31m red\n- b\n- b\n", ["a[31m red", "b"]),
    ],
)
def test_any_prd_gives_two_to_five_stories(prd: str, titles: list[str], tmp_path: Path) -> None:
    assert [story["title"] for story in specify(prd, tmp_path)] == titles


def test_a_story_writes_one_small_real_function_and_its_test(rehearse: Rehearse, git: RunGit) -> None:
    played = rehearse()
    assert played.code == 0
    written = ["?? rehearsal/us_001.py", "?? tests/test_us_001.py"]
    assert git("status", "--porcelain", "--untracked-files=all").splitlines() == written
    assert _module(rehearse.cwd / "rehearsal" / "us_001.py").us_001() == "US-001"
    assert "FILES_MODIFIED: 2" in played.text


def test_in_a_language_that_is_not_known_there_is_no_test(rehearse: Rehearse, git: RunGit) -> None:
    git("rm", "-r", "--quiet", "tests", "calc.py", "conftest.py")
    (rehearse.cwd / "go.mod").write_text("module shop\n")
    rehearse()
    assert git("ls-files", "--others") == "go.mod\nrehearsal/us_001.py"
    assert (rehearse.cwd / "rehearsal" / "us_001.py").read_text().startswith('"""US-001, as a rehearsal writes it."""')


@pytest.mark.parametrize(
    ("package", "begins", "source"),
    [
        ({"devDependencies": {"jest": "29"}}, 'const assert = require("node:assert");', 'require("../rehearsal'),
        ({"devDependencies": {"vitest": "3"}}, 'import { test } from "vitest";', 'await import("../rehearsal'),
        ({"type": "module", "scripts": {"test": "node --test"}}, 'import test from "node:test";', "await import("),
        ({"scripts": {"test": "node --test"}}, 'const test = require("node:test");', 'require("../rehearsal'),
    ],
)
def test_a_test_is_written_for_the_runner_of_the_project(
    package: dict[str, Any], begins: str, source: str, rehearse: Rehearse, git: RunGit
) -> None:
    git("rm", "-r", "--quiet", "tests", "calc.py", "conftest.py")
    (rehearse.cwd / "package.json").write_text(json.dumps(package))
    rehearse()
    text = (rehearse.cwd / "test" / "us_001.test.js").read_text()
    assert text.startswith(begins) and source in text
    code = (rehearse.cwd / "rehearsal" / "us_001.js").read_text()
    assert ("export function us_001(" in code) == ("await" in source)


def test_a_story_that_was_done_before_still_changes_something(rehearse: Rehearse) -> None:
    for _ in range(3):
        rehearse()
    for name in ("us_001", "us_001_2", "us_001_3"):
        assert getattr(_module(rehearse.cwd / "rehearsal" / f"{name}.py"), name)() == "US-001"
        assert (rehearse.cwd / "tests" / f"test_{name}.py").exists()


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
