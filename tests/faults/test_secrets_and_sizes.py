"""What must not be committed or written down: keys, tokens of the environment, and files that are too big."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from ralphy.secrets.patterns import mark_of
from tests.core.test_secrets import PLANTED, noise
from tests.engine.building import AGENT, Project, assert_clean, breaks, build, story, works
from tests.sampling import sampled

KEY = PLANTED["an Anthropic key"]
SLACK = PLANTED["a Slack token"]


def planted(tmp_path: Path, text: str, **settings: Any) -> Project:
    """A project whose only story's agent writes this text beside its work, and then without it."""
    project = build(tmp_path, story("US-001"), **settings)
    clean = {"src/us_001.py": "WORKS = 2\n", "src/settings.py": "KEY = ''\n"}
    project.play(stories={"US-001": [works(write={"src/us_001.py": "W = 1\n", "src/settings.py": text}),
                                     {"write": clean}]})  # fmt: skip
    return project


def everything_written(project: Project) -> str:
    """All commits that could be pushed, the journal, and all that is kept in the feature folder."""
    files = [path for path in project.folder.rglob("*") if path.is_file()]
    journal = project.repo / ".git" / "ralphy" / "journal.jsonl"
    texts = [path.read_text(errors="replace") for path in (*files, journal)]
    return "\n".join([project.git("log", "--patch", project.branch), *texts])


@pytest.mark.fault("S3")
@pytest.mark.attempt(52)
def test_a_key_in_the_code_rejects_the_attempt_and_stands_nowhere(tmp_path: Path) -> None:
    project = planted(tmp_path, f'# settings\nKEY = "{KEY}"\n')

    ended = project.loop()

    assert ended.runs[:2] == ["US-001", "US-001"]
    assert project.landed() == ["login/US-001"]
    said = next(line for line in ended.said if "attempt 1 rejected" in line)
    assert "src/settings.py:2 holds an Anthropic key (sk-a…" in said
    assert KEY not in ended.text
    assert KEY not in everything_written(project)
    assert "src/settings.py:2 holds an Anthropic key" in project.prompts("US-001")[1]
    assert_clean(project)


def test_a_fingerprint_that_a_person_committed_lets_it_pass(tmp_path: Path) -> None:
    project = planted(tmp_path, f'KEY = "{KEY}"\n')
    allow = project.repo / ".ralphy" / "secrets-allow"
    allow.write_text(f"{mark_of(KEY.encode())}  # a key of the test account, revoked\n")
    project.git("add", ".ralphy/secrets-allow")
    project.git("commit", "--quiet", "-m", "chore: a key that is none")

    project.loop()

    assert project.outcomes()[0] == ("US-001", "succeeded")
    assert_clean(project)


def test_an_agent_cannot_allow_itself_a_key(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 1})
    write = {"src/us_001.py": f'KEY = "{KEY}"\n', ".ralphy/secrets-allow": f"{mark_of(KEY.encode())}\n"}
    project.play(stories={"US-001": [{"write": write, "commit": "feat: all"}]})

    project.loop()

    assert project.landed() == []
    assert KEY not in project.git("log", "--patch", project.branch)


TOKEN = "Zq9-" + noise(24)
NAMES = {
    "a file's name": (f"src/{KEY}.txt", "src/[redacted: an Anthropic key].txt holds an Anthropic key"),
    "a folder's name": (f"src/{SLACK}/notes.txt", "/notes.txt holds a Slack token"),
    "the environment's own value": (f"src/{TOKEN}.txt", "src/[redacted DEPLOY_TOKEN].txt holds the value of"),
}


@pytest.mark.fault("S3")
@pytest.mark.parametrize("where", sampled(NAMES, "a file's name"))
@pytest.mark.attempt(53)
def test_a_key_in_a_name_rejects_the_attempt_and_stands_nowhere(tmp_path: Path, where: str) -> None:
    path, found = NAMES[where]
    project = build(tmp_path, story("US-001"))
    project.env["DEPLOY_TOKEN"] = TOKEN
    project.play(stories={"US-001": [works(write={"src/us_001.py": "W = 1\n", path: "harmless\n"}),
                                     works(delete=[path])]})  # fmt: skip

    ended = project.loop()

    assert ended.runs[:2] == ["US-001", "US-001"]
    assert project.landed() == ["login/US-001"]
    assert found in ended.text
    written = ended.text + everything_written(project) + project.git("ls-tree", "-r", "--name-only", project.branch)
    lines = [line for line in written.splitlines() if any(v in line for v in (KEY, SLACK, TOKEN))]
    assert lines == []
    assert "holds" in project.prompts("US-001")[1]
    assert_clean(project)


def test_a_key_in_a_name_that_was_there_before_is_not_the_agents(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    folder = project.repo / "src" / SLACK
    folder.mkdir()
    (folder / "old.txt").write_text("of old\n")
    project.git("add", "src")
    project.git("commit", "--quiet", "-m", "chore: of old")
    project.play(stories={"US-001": [works(write={"src/us_001.py": "W = 1\n", f"src/{SLACK}/new.txt": "new\n"})]})

    project.loop()

    assert project.outcomes()[0] == ("US-001", "succeeded")


@pytest.mark.parametrize(("setting", "flagged"), sampled([("warn", True), ("off", False)], ("warn", True)))
def test_a_person_can_have_them_flagged_or_not_looked_for(tmp_path: Path, setting: str, flagged: bool) -> None:
    project = planted(tmp_path, f'KEY = "{KEY}"\n', safety={"secret_scan": setting})

    project.loop()

    warnings = " ".join(project.story("US-001")["evidence"].get("warnings", []))
    assert project.outcomes()[0] == ("US-001", "succeeded")
    assert ("holds an Anthropic key" in warnings) is flagged
    assert KEY not in warnings


def test_a_key_that_was_there_before_is_not_the_agents(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    (project.repo / "src" / "base.py").write_text(f'KEY = "{KEY}"\n')
    project.git("commit", "--quiet", "--all", "-m", "chore: of old")
    project.play(stories={"US-001": [works(append={"src/base.py": "MORE = 1\n"})]})

    project.loop()

    assert project.outcomes()[0] == ("US-001", "succeeded")


@pytest.mark.fault("S3")
@pytest.mark.attempt(52)
def test_the_environments_tokens_reach_no_log_no_commit_and_no_document(tmp_path: Path) -> None:
    token = "Zq9-" + noise(24)
    project = build(tmp_path, story("US-001"), agent={"command": AGENT, "env": ["DEPLOY_TOKEN"]})
    project.env["DEPLOY_TOKEN"] = token
    learns = {"learnings": f"deploy with {token}", "say": f"I used {token} and {SLACK}"}
    project.play(stories={"US-001": [{**works(), **learns}]})

    project.loop()

    written = everything_written(project)
    assert project.landed() == ["login/US-001"]
    assert token not in written
    assert SLACK not in written
    assert "[redacted DEPLOY_TOKEN]" in project.read("progress.txt")
    assert_clean(project)


@pytest.mark.fault("S3")
@pytest.mark.attempt(2, 3)
def test_no_command_that_runs_what_an_agent_wrote_sees_the_users_keys(tmp_path: Path) -> None:
    kept_back = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "SSH_PRIVATE_KEY", "STRIPE_KEY", "DB_PASSWD", "GH_TOKEN"]
    look = f"sh -c 'env >> {tmp_path}/seen-by-$0' "
    project = build(tmp_path, story("US-001"), checks=[{"name": "test", "run": f"{look}check"}], setup=f"{look}setup",
                    agent={"command": AGENT, "env": ["SANDBOX_KEY"]})  # fmt: skip
    hook = project.repo / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\nenv >> {tmp_path}/seen-by-hook\n")
    hook.chmod(0o755)
    project.env |= {name: noise(20) for name in [*kept_back, "SANDBOX_KEY"]} | {"DATABASE_URL": "sqlite://"}

    project.loop()

    assert project.landed() == ["login/US-001"]
    for who in ("check", "setup", "hook"):
        names = {line.partition("=")[0] for line in (tmp_path / f"seen-by-{who}").read_text().splitlines()}
        assert names.isdisjoint(kept_back), who
        assert {"PATH", "SANDBOX_KEY", "DATABASE_URL"} <= names, who


@pytest.mark.fault("S3")
def test_they_reach_nothing_in_another_spelling_either_and_what_is_kept_stays_json(tmp_path: Path) -> None:
    token = f"Zq9/{noise(16)}+{noise(4)}="
    project = build(tmp_path, story("US-001"), agent={"command": AGENT, "env": ["DEPLOY_TOKEN", "OTHER_KEY"]})
    project.env |= {"DEPLOY_TOKEN": token, "OTHER_KEY": "total_cost_usd"}
    spelled = [token.replace("/", "\\/"), token.replace("/", "\\u002f"), quote(token, safe=""),
               base64.b64encode(f"me:{token}".encode()).decode()]  # fmt: skip
    project.play(stories={"US-001": [works(say=" ".join(spelled), learnings=" ".join(spelled))]})

    project.loop()

    written = everything_written(project)
    assert project.landed() == ["login/US-001"]
    assert not any(part in written for part in (token, *spelled, token[4:20], spelled[-1][8:24]))
    (stream,) = (project.folder / ".ralphy" / "runs").glob("*-story-US-001/stream.ndjson")
    events = [json.loads(line) for line in stream.read_text().splitlines()]
    assert events[-1]["total_cost_usd"] > 0
    assert json.dumps(events).count("[redacted DEPLOY_TOKEN, percent]") > 0
    assert_clean(project)


def test_base64_of_a_token_rejects_the_attempt(tmp_path: Path) -> None:
    token = "Zq9-" + noise(24)
    project = planted(tmp_path, f"AUTH = 'Basic {base64.b64encode(f'me:{token}'.encode()).decode()}'\n")
    project.env["DEPLOY_TOKEN"] = token

    ended = project.loop()

    assert ended.runs[:2] == ["US-001", "US-001"]
    assert "src/settings.py:1 holds the value of DEPLOY_TOKEN" in ended.text


@pytest.mark.attempt(52)
def test_a_document_with_a_key_goes_back_to_its_agent(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    report = "---\nverdict: pass\nfindings: []\n---\n# Review\n"
    project.play(
        stories={"*": [works()]},
        qa=[{"outbox": {"QA_REPORT.md": f"{report}{KEY}\n"}}, {"outbox": {"QA_REPORT.md": report}}],
    )

    project.loop()

    assert project.read("QA_REPORT.md") == report
    assert [outcome for step, outcome in project.outcomes() if step == "qa"] == ["rejected", "succeeded"]
    assert KEY not in everything_written(project)


@pytest.mark.parametrize("step", ["spec", "split"])
def test_a_draft_of_stories_with_a_key_goes_back_too(tmp_path: Path, step: str) -> None:
    def draft(text: str) -> dict[str, Any]:
        return {"outbox": {"stories.json": {"userStories": [story("US-001", description=f"Use {text}")]}}}

    project = build(tmp_path, limits={"max_attempts": 1, "max_splits": 1})
    if step == "spec":
        project.write("SPEC.md", "# Spec\n\n## US-001\n")  # by hand: only the stories are asked for
    else:
        project.plan(story("US-001"))
        (project.folder / "PRD.md").unlink()
    project.play(**{step: [draft(KEY), draft("the environment")]}, stories={"*": [breaks(), works()]})

    project.loop()

    assert project.outcomes().count(("US-001" if step == "split" else step, "rejected")) >= 1
    assert KEY not in everything_written(project)
    assert "the environment" in project.read("prd.json")


@pytest.mark.fault("G18")
def test_a_file_that_is_too_big_rejects_the_attempt_unread(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 2})
    big = works(run=[["truncate", "-s", "2G", "src/model.bin"]])
    project.play(stories={"US-001": [big, works()]})

    ended = project.loop()

    assert "src/model.bin has 2048.0 MB; more than limits.max_file_mb (10.0)" in ended.text
    assert project.outcomes()[:2] == [("US-001", "rejected"), ("US-001", "succeeded")]
    assert project.landed() == ["login/US-001"]
    assert "src/model.bin" not in project.code_files()
    objects = project.git("count-objects", "-v")
    assert int(objects.split("size: ")[1].split()[0]) < 2048
    assert_clean(project)


@pytest.mark.fault("G18")
def test_a_known_file_that_grew_too_big_is_as_it_was_again(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 2, "max_file_mb": 0.001})
    grown = works(append={"src/base.py": "# much\n" * 400})
    project.play(stories={"US-001": [grown, works()]})

    project.loop()

    assert project.outcomes()[:2] == [("US-001", "rejected"), ("US-001", "succeeded")]
    assert project.code("src/base.py") == "BASE = 1\n"
    assert_clean(project)


@pytest.mark.fault("G18")
def test_a_folder_of_packages_that_git_does_not_ignore_rejects_the_attempt(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 2, "max_new_files": 50})
    packages = ["sh", "-c", "mkdir -p packages/a && for i in $(seq 60); do echo $i > packages/a/$i.js; done"]
    project.play(stories={"US-001": [works(run=[packages]), works()]})

    ended = project.loop()

    assert "61 new files (packages …), more than limits.max_new_files (50)" in ended.text
    assert project.landed() == ["login/US-001"]
    assert not [path for path in project.code_files() if path.startswith("packages/")]
    assert_clean(project)


@pytest.mark.fault("G18")
def test_a_persons_ignored_file_stays_when_a_new_folder_around_it_has_too_many_files(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 2, "max_new_files": 10})
    (project.repo / ".gitignore").write_text("*.parquet\n")
    project.git("add", ".gitignore")
    project.git("commit", "--quiet", "-m", "chore: data is not committed")
    (project.repo / "data").mkdir()
    (project.repo / "data" / "precious.parquet").write_text("years of work")
    many = ["sh", "-c", "mkdir -p data/deep; for i in $(seq 6); do echo $i > data/$i.csv; echo $i > data/deep/$i; done"]
    project.play(stories={"US-001": [works(run=[many]), works()]})

    project.loop()

    assert project.outcomes()[:2] == [("US-001", "rejected"), ("US-001", "succeeded")]
    assert (project.repo / "data" / "precious.parquet").read_text() == "years of work"
    assert [path.name for path in (project.repo / "data").iterdir()] == ["precious.parquet"]
    assert_clean(project)
