"""Which files steer agents, CI or what people run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralphy.pipeline.model import Prd
from ralphy.pipeline.steering import read_before, steering_files, steering_findings, steering_of
from ralphy.testguard.findings import Kind

AGENTS = [
    "CLAUDE.md", "claude.md", "sub/CLAUDE.md", "AGENTS.md", "GEMINI.md", ".cursorrules", ".cursor/rules/a.mdc",
    ".mcp.json", ".claude/settings.json", ".github/copilot-instructions.md",
    "packages/web/.claude/skills/x/SKILL.md", ".github/instructions/a.md",
]  # fmt: skip
PEOPLE = [
    "Makefile", "makefile", "GNUmakefile", "sub/Makefile", "build/rules.mk", ".envrc", ".vscode/tasks.json",
    ".npmrc", "web/.npmrc", ".pre-commit-config.yaml", ".husky/pre-commit", "justfile",
    ".devcontainer/devcontainer.json", "my.code-workspace", ".cargo/config.toml",
]  # fmt: skip
CI = [
    ".github/workflows/ci.yml", ".github/actions/a/action.yml", ".gitlab-ci.yml", "Jenkinsfile",
    ".circleci/config.yml", ".ci/run",
]  # fmt: skip
NOBODY = [
    "README.md", "src/makefile.py", "docs/CLAUDE.md.txt", "src/claude/main.py", ".github/CODEOWNERS",
    ".github/ISSUE_TEMPLATE/bug.md", "package.json", "cursor/a.py", "tests/test_agents.py", "mk", "Makefile.am.txt",
    ".gitignore", "pyproject.toml",
]  # fmt: skip


MOMENTS = {"before an agent works here": AGENTS, "before you ": PEOPLE, "before the branch is pushed": CI}


@pytest.mark.parametrize("moment", MOMENTS)
def test_by_when_a_file_that_steers_should_be_read(moment: str) -> None:
    for path in MOMENTS[moment]:
        assert read_before(path).startswith(moment), path
    assert not any(map(read_before, NOBODY))


@given(st.text(max_size=40))
def test_any_path_is_looked_at_in_any_folder_and_case(path: str) -> None:
    assert read_before(path) in ("", read_before(f"sub/{path}"))


def test_a_finding_says_by_when_a_file_should_be_read_and_evidence_holds_few_of_them() -> None:
    (found,) = steering_findings(["src/a.py", "Makefile"])
    assert (found.kind, found.what) == (Kind.STEERING, "Makefile (read it before you run make)")
    assert len(steering_files([f"{n}/Makefile" for n in range(50)])) == 20


def test_a_file_is_named_once_with_all_its_stories() -> None:
    stories = [
        {"id": f"US-00{n}", "title": "x", "status": "completed", "passes": True, "evidence": {"steering": noted}}
        for n, noted in enumerate((["Makefile"], ["Makefile", "CLAUDE.md"], "by hand"), start=1)
    ]
    found = steering_of(Prd.of({"userStories": stories}))

    assert found == [
        "Makefile (US-001, US-002): read it before you run make",
        "CLAUDE.md (US-002): read it before an agent works here",
    ]
