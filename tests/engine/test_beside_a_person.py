"""A person works in the checkout while agents work in lanes: nothing of theirs is lost, taken along or waited for."""

from __future__ import annotations

from pathlib import Path

from tests.engine.building import Project, assert_clean, breaks, build, person, story, works


def during(tmp_path: Path, script: str) -> Project:
    """Two stories; in the middle of the first one's only attempt a person does what the script says."""
    project = build(tmp_path, story("US-001"), story("US-002", priority=2), limits={"max_attempts": 1})
    project.play(stories={"US-001": [works(run=person(project, script))], "*": [works()]})
    return project


# What a person does in the middle of the run of each story, one after the other.
DEEDS = (
    "echo BROKEN > src/mine.py; echo BROKEN > src/base.py; git add src/base.py; echo 'BASE = 2' > src/base.py",
    "git stash --quiet; echo 'BASE = 3' > src/base.py; git add src/base.py; echo 'BASE = 4' > src/base.py",
    "git switch --quiet -c mine",
    "echo 'NEW = 1' > src/new.py; git add src/new.py; git commit --quiet -m mine -- src/new.py",
)


def test_what_a_person_saves_stashes_stages_and_commits_during_runs_stays_and_stays_theirs(tmp_path: Path) -> None:
    ids = [f"US-00{number}" for number in range(1, len(DEEDS) + 1)]
    project = build(tmp_path, *map(story, ids), limits={"max_attempts": 1})
    acts = (breaks, works, works, works)
    project.play(stories={name: [act(run=person(project, script))]
                          for name, act, script in zip(ids, acts, DEEDS, strict=True)})  # fmt: skip
    (project.repo / "src" / "before.py").write_text("BROKEN\n")

    project.loop(agents=len(ids))

    assert project.git("rev-parse", "--abbrev-ref", "HEAD") == "mine"
    assert project.git("log", "--format=%s", "-1", "mine") == "mine"
    assert project.git("status", "--porcelain") == "MM src/base.py\n?? src/before.py\n?? src/mine.py"
    assert (project.repo / "src" / "mine.py").read_text() == "BROKEN\n"
    assert project.git("show", "stash@{0}:src/base.py") == "BASE = 2"
    assert project.git("show", ":src/base.py") == "BASE = 3"
    assert (project.repo / "src" / "base.py").read_text() == "BASE = 4\n"
    assert {"src/mine.py", "src/before.py", "src/new.py"}.isdisjoint(project.code_files())
    assert project.code("src/base.py") == "BASE = 1\n"
    assert project.landed() == [f"login/{name}" for name in ids[1:]]  # broken code in the checkout holds up nobody


def test_a_rebase_that_stands_still_is_left_alone(tmp_path: Path) -> None:
    stops = ("echo 'BASE = 2' > src/base.py; git commit --quiet -am two; "
             "GIT_SEQUENCE_EDITOR='sed -i s/pick/edit/' git rebase --quiet -i HEAD^")  # fmt: skip
    project = during(tmp_path, stops)

    project.loop(agents=2)

    assert project.landed() == ["login/US-001", "login/US-002"]
    assert (project.repo / ".git" / "rebase-merge").is_dir()
    project.git("rebase", "--continue")
    assert (project.repo / "src" / "base.py").read_text() == "BASE = 2\n"


def test_a_checkout_on_the_features_branch_follows_it_and_no_landing_overwrites_a_persons_file(tmp_path: Path) -> None:
    project = during(tmp_path, "git switch --quiet ralph/login; echo 'MINE = 1' > src/mine.py")
    project.loop(agents=1)
    assert project.git("rev-parse", "HEAD") == project.tip
    assert (project.repo / "src" / "us_001.py").read_text() == "WORKS = 1\n"
    assert project.git("status", "--porcelain") == "?? src/mine.py"
    (project.repo / "src" / "us_002.py").write_text("MINE = 1\n")

    ended = project.loop(agents=1)

    assert project.landed() == ["login/US-001", "login/US-002"]
    assert (project.repo / "src" / "us_002.py").read_text() == "MINE = 1\n"
    assert "src/us_002.py would be overwritten: move it away" in ended.text
    for name in ("us_002.py", "mine.py"):
        (project.repo / "src" / name).unlink()
    project.loop(agents=0)
    assert (project.repo / "src" / "us_002.py").read_text() == "WORKS = 1\n"
    assert_clean(project)


def test_work_that_a_commit_from_a_stale_checkout_undid_during_a_run_is_brought_back(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), story("US-002", priority=2), limits={"max_attempts": 1})
    sits_down = person(project, "git switch --quiet ralph/login; echo 'BASE = 2' > src/base.py")
    first = {"write": {"src/us_001.py": "WORKS = 1\n", "src/base.py": "BASE = 3\n"}, "run": sits_down}
    second = works(run=person(project, "git commit --quiet --all -m mine"))
    project.play(stories={"US-001": [first], "US-002": [second]})

    ended = project.loop(agents=2)

    assert ended.runs == ["US-001", "US-002"]
    assert "was made in a checkout that was behind, and undid: " in ended.text
    assert project.code("src/us_001.py") == "WORKS = 1\n"
    assert project.code("src/base.py") == "BASE = 2\n"
    assert project.landed() == ["login/US-001", "login/US-002"]
    assert_clean(project)


def test_a_document_and_a_story_of_a_person_during_a_run_are_committed_as_theirs_and_the_story_is_done_in_that_night(
    sandbox: None, tmp_path: Path
) -> None:
    project = build(tmp_path, story("US-001"))

    def add() -> None:
        project.write("notes.md", "Mind the gap.\n")
        project.plan(*project.prd()["userStories"], story("US-002", priority=2))

    ended = project.loop(agents=2, at={"agent_ended": add})

    assert "recorded by Ralphy" not in "\n".join(ended.said)  # the file said that US-001 is in progress
    assert project.code("docs/features/login/notes.md") == "Mind the gap.\n"
    (commit,) = project.git("log", "--format=%H", project.branch, "--", "docs/features/login/notes.md").split()
    assert project.trailer("Ralphy-Event", commit) == "adopted login"
    assert project.landed() == ["login/US-001", "login/US-002"]
    assert_clean(project)


def test_a_person_who_merges_the_unfinished_work_elsewhere_does_not_begin_it_again(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), story("US-002", priority=2), limits={"max_iterations": 1})
    project.loop()
    project.git("switch", "--quiet", "--create", "dev", "main")
    project.git("merge", "--quiet", "--no-edit", project.branch)
    before = project.git("rev-parse", project.branch)

    project.configure(limits={"max_iterations": 50})
    project.loop(agents=1)

    assert project.landed() == ["login/US-001", "login/US-002"]
    assert project.git("merge-base", project.branch, before) == before
    assert project.subjects("chore(login): start of") == [f"chore(login): start of {project.branch}"]


def test_documents_that_are_committed_where_a_person_stands_keep_no_branch_from_being_switched(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    project.write("PRD.md", "# Login\n")
    project.write("SPEC.md", "# Login\n\nOne story.\n")
    project.commit("docs: plan the login", ".")

    project.loop(agents=1)

    assert project.landed() == ["login/US-001"]
    assert project.git("status", "--porcelain") == ""
    for branch in (project.branch, "main"):
        project.switch(branch)
        assert project.git("status", "--porcelain") == ""
