"""What a person has in the working tree stays, whatever an agent and the checks do around it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralphy.engine.crew import Crew
from ralphy.engine.reconcile import act
from ralphy.engine.view.observe import observe
from ralphy.pipeline import decision as d
from tests.engine.building import assert_clean, breaks, build, open_feature, story, works


@pytest.mark.fault("G5")
def test_other_features_ignored_folders_modes_and_links_are_as_they_were(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    other, mine, assets = (project.repo / "docs/features/other/PRD.md", project.repo / "data" / "user.log",
                           project.folder / "assets")  # fmt: skip
    for path, text in {other: "# Other\n", mine: "mine", assets / "run.sh": "echo\n"}.items():
        path.parent.mkdir(parents=True)
        path.write_text(text)
    (assets / "run.sh").chmod(0o755)
    (assets / "link").symlink_to("run.sh")
    project.commit("other", "docs/features/other")
    other.write_text("# Other, with hours of work\n")
    at = f"{project.path}/assets"
    write = {"src/us_001.py": "WORKS = 1\n", ".gitignore": "__pycache__/\n*.log\ndata/\n", f"{at}/run.sh": "changed\n"}
    project.play(stories={"US-001": [breaks(), works(write=write, delete=[f"{at}/link"])]})

    project.loop(agents=2)

    assert project.landed() == ["login/US-001"]
    assert other.read_text() == "# Other, with hours of work\n"
    assert mine.read_text() == "mine"
    assert (assets / "run.sh").stat().st_mode & 0o111
    assert (assets / "link").is_symlink()
    other.write_text("# Other\n")
    assert_clean(project)


@pytest.mark.fault("G5")
def test_what_a_person_edits_the_checks_write_or_git_ignored_while_they_run_is_in_no_commit(tmp_path: Path) -> None:
    mine = tmp_path / "repo" / "README.md"
    project = build(tmp_path, story("US-001"), checks=[{"name": "test", "run": "sh check.sh"}])
    script = f"[ -e src/a.py ] || exit 0\necho mine > {mine}\necho 1 > report.xml\npython3 check.py\n"
    texts = {"README.md": "old\n", "check.sh": script, ".gitignore": "__pycache__/\n*.log\n.env\n",
             ".env": "TOKEN=1\n", "secret.log": "token"}  # fmt: skip
    for name, text in texts.items():
        (project.repo / name).write_text(text)
    project.commit("a check that does more", "README.md", "check.sh", ".gitignore")
    reads = ["sh", "-c", "grep -q TOKEN .env && ! test -e secret.log"]
    project.play(stories={"US-001": [works(write={".gitignore": "__pycache__/\n", "src/a.py": "A = 1\n"}, run=reads)]})

    project.loop(agents=1)

    assert mine.read_text() == "mine\n"
    assert project.landed() == ["login/US-001"]
    assert project.code("README.md") == "old\n"
    assert "report.xml" not in project.code_files()
    assert not (project.repo / "report.xml").exists()
    assert (project.repo / "secret.log").read_text() == "token"
    assert (project.repo / ".env").read_text() == "TOKEN=1\n"
    committed = project.git("log", "--all", "--name-only", "--format=").split()
    assert {"secret.log", ".env"}.isdisjoint(committed)


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
