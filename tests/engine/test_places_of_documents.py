"""Something else in the place of a document is found out before an agent is paid, whichever document it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ralphy.documents.feature_folder import Feature, obstructions
from ralphy.errors import ExitCode
from tests.engine.building import build

DOCUMENTS = ["PRD.md", "SPEC.md", "QA_REPORT.md", "PR.md", "QUESTIONS.md", "prd.json", "progress.txt", "TASKS.md",
             "stories/US-001.md", ".gitignore", ".gitattributes"]  # fmt: skip


def put(path: Path, kind: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "a folder":
        path.mkdir()
    elif kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a plain file":
        path.touch()
    else:
        path.symlink_to("elsewhere")


@pytest.mark.parametrize("kind", ["a folder", "a pipe", "a symbolic link", "a plain file"])
def test_each_document_must_have_its_place(tmp_path: Path, kind: str) -> None:
    for name in DOCUMENTS:
        put(tmp_path / name, kind)
    put(tmp_path / ".ralphy", "a folder")
    wrong = DOCUMENTS if kind != "a plain file" else []
    assert sorted(obstructions(Feature("login", tmp_path, "docs/login"))) == sorted(
        f"docs/login/{name} is {kind} but must be a plain file" for name in wrong
    )


def test_each_folder_must_be_one(tmp_path: Path) -> None:
    for name in ("stories", ".ralphy"):
        put(tmp_path / name, "a plain file")
    assert sorted(obstructions(Feature("login", tmp_path, "docs/login"))) == [
        f"docs/login/{name} is a plain file but must be a folder" for name in (".ralphy", "stories")
    ]


def test_a_folder_called_spec_costs_nothing_and_goes_on_when_it_is_moved(tmp_path: Path) -> None:
    project = build(tmp_path, gates={"spec": "human"})
    (project.folder / "SPEC.md").mkdir()

    ended = project.loop()

    assert (ended.code, ended.runs) == (ExitCode.INVALID, [])
    assert "docs/features/login/SPEC.md is a folder but must be a plain file" in ended.rest.reason
    (project.folder / "SPEC.md").rmdir()
    assert project.loop().runs == ["spec"]
