"""What a story's `context` names is read from inside the repository alone, and reaches its prompt."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ralphy.prompts.context_documents import MOST_BYTES, read_document, references, unreadable
from tests.engine.building import build, story

SPEC = "# Shop\n\n## Sign in\n\nUse the session table.\n\n## Pay\n\nUse the ledger.\n"


def read(root: Path, named: str) -> tuple[str, str]:
    """(text, problem) of what a story in the feature folder docs/login names."""
    (reference,) = references({"context": {"parent_brief": named}})
    found = read_document(reference, root / "docs" / "login", root)
    return found.text, found.problem


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a document below its root, one in the feature's folder, and secrets beside it."""
    found = tmp_path / "repo"
    for name, text in (("docs/shop.md", "shop"), ("docs/login/PRD.md", "login"), (".git/config", "[core]")):
        (found / name).parent.mkdir(parents=True, exist_ok=True)
        (found / name).write_text(text)
    (tmp_path / "secret.md").write_text("secret")
    return found


@pytest.mark.parametrize(
    ("named", "text"), [("PRD.md", "login"), ("docs/shop.md", "shop"), ("../shop.md#x", "shop"), ("./PRD.md", "login")]
)
def test_a_document_is_found_beside_the_story_or_below_the_root(root: Path, named: str, text: str) -> None:
    assert read(root, named) == (text, "")


def put_odd(root: Path, kind: str) -> str:
    """Something that is not to be read, and the name of it."""
    path = root / "docs" / "odd.md"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "large":
        path.touch()
        os.truncate(path, MOST_BYTES + 1)
    elif kind == "circle":
        path.symlink_to("odd.md")
    else:
        path.symlink_to(root.parent / "secret.md")
    return "docs/odd.md"


def test_what_is_odd_is_not_read_and_is_said(root: Path) -> None:
    for kind in ("pipe", "large", "circle", "link"):
        text, problem = read(root, put_odd(root, kind))
        assert text == "" and problem.startswith('context.parent_brief names "docs/odd.md", which ')
        (root / "docs" / "odd.md").unlink()


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("../../../secret.md", "is not inside the repository"),
        ("/etc/hostname", "is not inside the repository"),
        (".git/config", "is Git's own"),
        ("docs", "is not a regular file"),
        ("nowhere.md", "does not exist"),
        ("a\x00b", "is not inside the repository"),
        ("x" * 5000, "is not inside the repository"),
    ],
)
def test_what_lies_elsewhere_or_nowhere_is_said(root: Path, named: str, why: str) -> None:
    text, problem = read(root, named)
    assert text == "" and problem.endswith(f", which {why}")


@pytest.mark.parametrize("context", [None, [], {}, {"parent_spec": None}, {"parent_spec": " ", "parent_brief": 5}])
def test_a_context_that_names_nothing_names_nothing(context: Any) -> None:
    assert list(references({"context": context})) == []


def test_a_spec_that_is_still_to_come_is_not_missed(root: Path) -> None:
    raw = {"context": {"parent_spec": "SPEC.md#sign-in", "parent_brief": "gone.md"}}
    assert [reference.path for reference, _ in unreadable(raw, root / "docs" / "login", root)] == ["gone.md"]


def test_spec_in_another_file_and_brief_reach_the_storys_prompt(tmp_path: Path) -> None:
    context = {"parent_spec": "docs/shop.md#sign-in", "parent_brief": "BRIEF.md"}
    gone = {"parent_spec": "docs/gone.md", "parent_brief": "docs/shop.md#nothing"}
    project = build(tmp_path, story("US-001", context=context), story("US-002", priority=2, context=gone))
    (project.repo / "docs" / "shop.md").write_text(SPEC)
    project.commit("docs: the shop", "docs/shop.md")
    project.write("BRIEF.md", "Customers come back.\n")

    ended = project.loop(agents=2)

    (told,) = project.prompts("US-001")
    assert "Use the session table." in told and "Use the ledger." not in told and "Customers come back." in told
    (told,) = project.prompts("US-002")
    assert 'context.parent_spec names "docs/gone.md", which does not exist' in told and "Use the ledger." in told
    assert 'warning: US-002: context.parent_spec names "docs/gone.md", which does not exist' in ended.said
    assert any("which has no section 'nothing'" in line for line in ended.said)
