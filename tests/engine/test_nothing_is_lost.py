"""What a person has in the working tree stays, whatever an agent and the checks do around it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralphy.engine.crew import Crew
from ralphy.engine.reconcile import act
from ralphy.engine.view.observe import observe
from ralphy.pipeline import decision as d
from tests.engine.building import Project, assert_clean, breaks, build, open_feature, story, works


@pytest.mark.fault("G5")
def test_uncommitted_edits_in_another_features_folder_stay(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 2})
    other = project.repo / "docs/features/other/PRD.md"
    other.parent.mkdir(parents=True)
    other.write_text("# Other\n")
    project.git("add", "--all", "--", "docs/features/other")
    project.git("commit", "--quiet", "--message", "other")
    other.write_text("# Other, with hours of work\n")
    project.play(stories={"US-001": [breaks(), works()]})

    project.loop()

    assert other.read_text() == "# Other, with hours of work\n"
    assert project.statuses()["US-001"] == "completed"


def edits_while_checked(tmp_path: Path, script: str, act: dict[str, object]) -> Project:
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 1})
    (project.repo / "README.md").write_text("old\n")
    (project.repo / "check.sh").write_text(f"[ -e src/us_001.py ] || exit 0\n{script}\npython3 check.py\n")
    project.git("add", "--all", "--", "README.md", "check.sh")
    project.git("commit", "--quiet", "--message", "a check that does more")
    project.configure(gates={"spec": "auto", "qa": "human"}, limits={"max_attempts": 1},
                      checks=[{"name": "test", "run": "sh check.sh"}])  # fmt: skip
    project.play(stories={"US-001": [act]})
    project.loop()
    return project


@pytest.mark.fault("G5")
def test_a_persons_edit_while_the_checks_run_stays_and_is_in_no_commit(tmp_path: Path) -> None:
    mine = tmp_path / "repo" / "README.md"
    project = edits_while_checked(tmp_path, f"echo mine > {mine}", works())

    assert mine.read_text() == "mine\n"
    assert project.landed() == ["login/US-001"]
    assert project.code("README.md") == "old\n"


def test_files_that_checks_leave_lying_about_are_in_nobodys_commit(tmp_path: Path) -> None:
    project = edits_while_checked(tmp_path, "echo 1 > report.xml", works())

    assert project.statuses()["US-001"] == "completed"
    assert "report.xml" not in project.git("ls-files")
    assert_clean(project)


def test_an_agent_cannot_take_in_files_that_git_ignored(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 1})
    for name, text in {".gitignore": "__pycache__/\n*.log\n.env\n", ".env": "TOKEN=1\n", "secret.log": "token"}.items():
        (project.repo / name).write_text(text)
    project.git("commit", "--quiet", "--all", "-m", "chore: ignore the settings")
    reads = ["sh", "-c", "grep -q TOKEN .env && ! test -e secret.log"]
    act = works(write={".gitignore": "__pycache__/\n", "src/a.py": "A = 1\n"}, run=reads)
    project.play(stories={"US-001": [act]})

    project.loop()

    assert (project.repo / "secret.log").read_text() == "token"
    assert (project.repo / ".env").read_text() == "TOKEN=1\n"
    committed = project.git("log", "--all", "--name-only", "--format=").split()
    assert {"secret.log", ".env"}.isdisjoint(committed)


def test_an_ignored_folder_of_a_person_is_not_moved_when_the_ignore_rule_grows(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    (project.repo / "data").mkdir()
    (project.repo / "data" / "user.log").write_text("mine")
    rules = "__pycache__/\n*.log\ndata/\n"
    project.play(stories={"US-001": [works(write={".gitignore": rules, "src/us_001.py": "WORKS = 1\n"})]})

    project.loop()

    assert (project.repo / "data" / "user.log").read_text() == "mine"
    assert project.statuses()["US-001"] == "completed"


def test_control_files_come_back_with_their_modes_and_links(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    assets = project.folder / "assets"
    assets.mkdir(parents=True)
    (assets / "run.sh").write_text("echo\n")
    (assets / "run.sh").chmod(0o755)
    (assets / "link").symlink_to("run.sh")
    at = f"{project.path}/assets"
    write = {"src/us_001.py": "WORKS = 1\n", f"{at}/run.sh": "changed\n"}
    project.play(stories={"US-001": [works(write=write, delete=[f"{at}/link"])]})

    project.loop()

    assert (assets / "run.sh").stat().st_mode & 0o111
    assert (assets / "link").is_symlink()
    assert_clean(project)


def test_a_heal_goes_on_from_what_a_person_committed_meanwhile(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), limits={"max_iterations": 1})
    draft = breaks(append={"src/base.py": "BASE = 0\n", "src/mine": "a file\n", "notes.md": "half\n"})
    project.play(stories={"US-001": [draft, works()]})
    project.loop()
    project.switch()
    mine = {"src/base.py": "BASE = 'person'\n", "src/person.py": "P = 1\n", "src/mine/now.py": "A_FOLDER = 1\n"}
    for name, text in {**mine, ".ralphy/notes.txt": "mine\n"}.items():
        (project.repo / name).parent.mkdir(exist_ok=True)
        (project.repo / name).write_text(text)
    project.git("add", "--all", "--force", "src", ".ralphy/notes.txt")
    project.git("commit", "--quiet", "-m", "feat: by hand")

    project.loop()

    assert project.journal("run")[-1]["mode"] == "heal"
    assert project.statuses()["US-001"] == "completed"
    assert (project.repo / "notes.md").read_text() == "half\n"
    assert {name: (project.repo / name).read_text() for name in mine} == mine
    assert (project.repo / ".ralphy" / "notes.txt").read_text() == "mine\n"
    assert mine.keys().isdisjoint(project.files_of(project.commit_of("US-001")))
    assert_clean(project)


def test_a_heal_does_not_bring_a_reverted_story_back(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), story("US-002"), limits={"max_iterations": 2})
    first, again = works(write={"src/old.py": "OLD = 1\n"}), works(write={"src/new.py": "NEW = 1\n"})
    project.play(stories={"US-001": [first, again], "US-002": [breaks(), works()]})
    project.loop()
    project.switch()
    project.git("revert", "--no-edit", project.commit_of("US-001"))

    project.loop()

    assert set(project.statuses().values()) == {"completed"}
    assert (project.repo / "src" / "new.py").exists()
    assert not (project.repo / "src" / "old.py").exists()


@pytest.mark.parametrize("kind", [d.Adopt, d.OpenBranch])
def test_an_edit_that_came_after_the_look_is_not_written_over(
    tmp_path: Path, kind: type[d.Adopt | d.OpenBranch]
) -> None:
    project = build(tmp_path, story("US-001"))
    with open_feature(project.repo, project.path, project.env) as w:
        seen = observe(w)
        project.write("prd.json", "{")

        with Crew(w) as crew:
            act(kind("a look ago"), seen, w, crew)

    assert project.read("prd.json") == "{"
    assert project.git("branch", "--list", project.branch) == ""
