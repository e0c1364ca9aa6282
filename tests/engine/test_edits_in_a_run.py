"""Without a sandbox, nobody can tell who edits a document while an agent runs: it is set aside, and flagged."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.building import Project, assert_clean, build, drive, person, story, works
from tests.engine.driver import KILLED
from tests.sampling import sampled

SPEC = "# Login\n\n- US-001: sign in\n"


def reached(tmp_path: Path, script: str) -> Project:
    """A project with a SPEC.md whose first agent walks out of its lane and does what the script says."""
    project = build(tmp_path, story("US-001"), story("US-002", priority=2))
    project.write("SPEC.md", SPEC)
    project.write("notes.md", "Mind the gap.\n")
    project.play(stories={"US-001": [works(run=person(project, script))], "*": [works()]})
    return project


def kept(project: Project, name: str) -> str:
    (found,) = (project.folder / ".ralphy" / "set-aside").glob(f"*-{name}")
    return found.read_text()


EASIER = """python3 -c "
import json, pathlib
path = pathlib.Path('docs/features/login/prd.json')
prd = json.loads(path.read_text())
prd['userStories'][1]['acceptanceCriteria'] = ['nothing']
path.write_text(json.dumps(prd, indent=2))
" """


EDITS = {
    "SPEC.md": "echo 'nothing to do' > docs/features/login/SPEC.md",
    "prd.json": EASIER,
    "progress.txt": "echo 'all is well' >> docs/features/login/progress.txt",
    "QUESTIONS.md": "echo 'yes' > docs/features/login/QUESTIONS.md",
    "notes.md": "rm docs/features/login/notes.md; ln -s /etc/passwd docs/features/login/notes.md",
}


def test_what_is_edited_while_an_agent_runs_is_kept_with_the_way_to_bring_it_back_and_not_taken(tmp_path: Path) -> None:
    project = reached(tmp_path, "\n".join(EDITS.values()))

    ended = project.loop(agents=2)

    assert [commit for commit in project.subjects() if "changes by hand" in commit] == []
    assert "nothing" not in project.code("docs/features/login/prd.json")
    assert project.code("docs/features/login/SPEC.md") == project.read("SPEC.md") == SPEC
    assert "all is well" not in project.code("docs/features/login/progress.txt")
    for name in EDITS:
        assert f"docs/features/login/{name} was changed while an agent ran without a sandbox" in ended.text
        assert f"{name} (set aside)" in str(project.story("US-001")["evidence"]["warnings"])
    assert project.landed() == ["login/US-001", "login/US-002"]
    assert_clean(project)

    assert kept(project, "SPEC.md") == "nothing to do\n"
    (sentence,) = [line for line in ended.said if "SPEC.md was changed" in line]
    back = sentence.rpartition("if it was you, ")[2]
    project.git("-c", f"alias.back=!{back}", "back")
    project.loop(agents=0)
    assert project.code("docs/features/login/SPEC.md") == "nothing to do\n"


@pytest.mark.parametrize(
    "does", sampled(["echo 'nothing to do' > {0}", "rm {0}", "git show ralph/login:{0} > {0}"], "rm {0}")
)
def test_an_edit_of_before_the_run_counts_as_it_was_then(tmp_path: Path, does: str) -> None:
    project = reached(tmp_path, does.format("docs/features/login/SPEC.md"))
    mine = f"{SPEC}- US-002: sign out\n"

    ended = project.loop(agents=1, at={"RunAgent": lambda: project.write("SPEC.md", mine)})

    assert project.code("docs/features/login/SPEC.md") == mine
    assert "SPEC.md was" in ended.text
    assert_clean(project)


def test_after_a_kill_the_edits_of_the_dead_run_are_set_aside(tmp_path: Path) -> None:
    project = reached(tmp_path, "echo 'nothing to do' > docs/features/login/SPEC.md")
    assert drive(project, "die", "agent_ended", "1") == KILLED
    project.play(stories={"*": [works()]})

    ended = project.loop(agents=1)

    assert "SPEC.md was changed while an agent ran without a sandbox" in ended.text
    assert project.code("docs/features/login/SPEC.md") == SPEC
    assert kept(project, "SPEC.md") == "nothing to do\n"
    assert project.landed() == ["login/US-001"]


def test_where_the_branch_that_is_checked_out_tracks_the_document_it_is_put_back_and_other_features_are_flagged(
    tmp_path: Path,
) -> None:
    other = "docs/features/other/APPROVED"
    edits = "echo 'nothing to do' > docs/features/login/SPEC.md; mkdir -p docs/features/other"
    project = reached(tmp_path, f"{edits}; touch {other}")
    project.commit("docs: the plan", "docs")

    ended = project.loop(agents=1)

    assert project.read("SPEC.md") == SPEC
    assert project.git("status", "--porcelain", "--", "docs/features/login/SPEC.md") == ""
    assert kept(project, "SPEC.md") == "nothing to do\n"
    assert f"{other}: changed during the run" in ended.text
    assert f'{other}"' in project.code(f"{project.path}/prd.json"), "the warnings of its evidence"
