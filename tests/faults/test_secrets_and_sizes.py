"""What must not be committed or written down: keys, tokens of the environment, and files that are too big."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from ralphy.secrets.patterns import mark_of
from tests.conftest import program
from tests.core.test_secrets import PLANTED, noise
from tests.engine.building import AGENT, ONE_RUN, Project, assert_clean, breaks, build, story, works
from tests.sampling import sampled

KEY = PLANTED["an Anthropic key"]
SLACK = PLANTED["a Slack token"]


def everything_written(project: Project) -> str:
    """All commits that could be pushed, the journal, and all that is kept in the feature folder."""
    files = [path for path in project.folder.rglob("*") if path.is_file()]
    journal = project.repo / ".git" / "ralphy" / "journal.jsonl"
    texts = [path.read_text(errors="replace") for path in (*files, journal)]
    return "\n".join([project.git("log", "--patch", project.branch), *texts])


TOKEN = "Zq9-" + noise(24)
BASIC = base64.b64encode(f"me:{TOKEN}".encode()).decode()
CLEAN = {"src/{{slug}}.py": "WORKS = 2\n", "src/settings.py": "KEY = ''\n", "src/basic.py": "AUTH = ''\n"}
REVIEW = "---\nverdict: pass\nfindings: []\n---\n# Review\n"
# Where an agent leaves what must not be committed, and how it is said.
LEFT = {
    "US-001": {
        "src/settings.py": (f'# settings\nKEY = "{KEY}"\n', "src/settings.py:2 holds an Anthropic key (sk-a…"),
        f"src/{KEY}.txt": ("harmless\n", "src/[redacted: an Anthropic key].txt holds an Anthropic key"),
        f"src/{SLACK}/notes.txt": ("harmless\n", "/notes.txt holds a Slack token"),
    },
    "US-002": {
        f"src/{TOKEN}.txt": ("harmless\n", "src/[redacted DEPLOY_TOKEN].txt holds the value of"),
        "src/basic.py": (f"AUTH = 'Basic {BASIC}'\n", "src/basic.py:1 holds the value of DEPLOY_TOKEN"),
    },
}


@pytest.mark.fault("S3")
@pytest.mark.attempt(52, 53)
def test_a_key_in_code_a_name_a_document_or_a_log_rejects_the_attempt_or_is_redacted_and_stands_nowhere(
    tmp_path: Path,
) -> None:
    names = [*LEFT, "US-003"]
    project = build(tmp_path, *map(story, names), agent={"command": AGENT, "env": ["DEPLOY_TOKEN"]})
    project.env["DEPLOY_TOKEN"] = TOKEN
    acts = {name: [works(write={"src/{{slug}}.py": "W = 1\n", **{path: text for path, (text, _) in left.items()}}),
                   {"write": CLEAN, "delete": [path for path in left if path.endswith(".txt")]}]
            for name, left in LEFT.items()}  # fmt: skip
    tells = {"learnings": f"deploy with {TOKEN}", "say": f"I used {TOKEN} and {SLACK}"}
    reviews = [{"outbox": {"QA_REPORT.md": text}} for text in (f"{REVIEW}{KEY}\n", REVIEW)]
    project.play(stories={**acts, "US-003": [works(**tells)]}, qa=reviews)

    ended = project.loop()

    assert project.landed() == [f"login/{name}" for name in names]
    assert ended.runs == [*(name for name in LEFT for _ in range(2)), "US-003", "qa", "qa"]
    for name, left in LEFT.items():
        for _, said in left.values():
            assert said in ended.text
            assert said.partition(" (")[0] in project.prompts(name)[1]
    written = ended.text + everything_written(project) + project.git("ls-tree", "-r", "--name-only", project.branch)
    assert [line for line in written.splitlines() if any(value in line for value in (KEY, SLACK, TOKEN, BASIC))] == []
    assert "[redacted DEPLOY_TOKEN]" in project.read("progress.txt")
    assert project.read("QA_REPORT.md") == REVIEW
    assert_clean(project)


def test_what_a_person_allowed_or_had_there_before_is_not_the_agents_and_no_agent_allows_itself_a_key(
    tmp_path: Path,
) -> None:
    names = [f"US-00{number}" for number in range(1, 5)]
    project = build(tmp_path, *map(story, names), limits={"max_attempts": 1})
    (project.repo / "src" / SLACK).mkdir()
    (project.repo / "src" / SLACK / "old.txt").write_text("of old\n")
    (project.repo / "src" / "base.py").write_text(f'KEY = "{KEY}"\n')
    test_key = KEY[:-4] + "Test"
    allow = project.repo / ".ralphy" / "secrets-allow"
    allow.write_text(f"{mark_of(test_key.encode())}  # a key of the test account, revoked\n")
    project.commit("chore: of old", "src", ".ralphy/secrets-allow")
    itself = {"src/us_004.py": f'MINE = "{KEY}"\n', ".ralphy/secrets-allow": f"{mark_of(KEY.encode())}\n"}
    project.play(stories={
        "US-001": [works(append={"src/base.py": "MORE = 1\n"})],
        "US-002": [works(write={"src/us_002.py": "W = 1\n", f"src/{SLACK}/new.txt": "new\n"})],
        "US-003": [works(write={"src/us_003.py": f'KEY = "{test_key}"\n'})],
        "US-004": [{"write": itself, "commit": "feat: all"}],
    })  # fmt: skip

    project.loop(agents=len(names))

    assert [outcome for _, outcome in project.outcomes()] == [*["succeeded"] * 3, "rejected"]
    assert project.landed() == [f"login/{name}" for name in names[:3]]
    assert f'MINE = "{KEY}"' not in project.git("log", "--patch", project.branch)
    assert_clean(project)


@pytest.mark.parametrize(("setting", "flagged"), sampled([("warn", True), ("off", False)], ("warn", True)))
def test_a_person_can_have_them_flagged_or_not_looked_for(tmp_path: Path, setting: str, flagged: bool) -> None:
    project = build(tmp_path, story("US-001"), safety={"secret_scan": setting})
    project.play(stories={"US-001": [works(write={"src/us_001.py": f'KEY = "{KEY}"\n'})]})

    project.loop(**ONE_RUN)

    warnings = " ".join(project.story("US-001")["evidence"].get("warnings", []))
    assert project.outcomes() == [("US-001", "succeeded")]
    assert ("holds an Anthropic key" in warnings) is flagged
    assert KEY not in warnings


@pytest.mark.fault("S3")
@pytest.mark.attempt(2, 3)
def test_no_command_of_an_agents_work_sees_the_users_keys_and_they_reach_nothing_in_another_spelling(
    tmp_path: Path,
) -> None:
    kept_back = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "SSH_PRIVATE_KEY", "STRIPE_KEY", "DB_PASSWD", "GH_TOKEN"]
    token = f"Zq9/{noise(16)}+{noise(4)}="
    look = f"sh -c 'env >> {tmp_path}/seen-by-$0' "
    project = build(tmp_path, story("US-001"), checks=[{"name": "test", "run": f"{look}check"}], setup=f"{look}setup",
                    agent={"command": AGENT, "env": ["SANDBOX_KEY", "DEPLOY_TOKEN", "OTHER_KEY"]})  # fmt: skip
    program(project.repo / ".git" / "hooks" / "pre-commit", f"env >> {tmp_path}/seen-by-hook")
    project.env |= {name: noise(20) for name in [*kept_back, "SANDBOX_KEY"]} | {"DATABASE_URL": "sqlite://"}
    project.env |= {"DEPLOY_TOKEN": token, "OTHER_KEY": "total_cost_usd"}
    spelled = [token.replace("/", "\\/"), token.replace("/", "\\u002f"), quote(token, safe=""),
               base64.b64encode(f"me:{token}".encode()).decode()]  # fmt: skip
    project.play(stories={"US-001": [works(say=" ".join(spelled), learnings=" ".join(spelled))]})

    project.loop(agents=1)

    assert project.landed() == ["login/US-001"]
    for who in ("check", "setup", "hook"):
        names = {line.partition("=")[0] for line in (tmp_path / f"seen-by-{who}").read_text().splitlines()}
        assert names.isdisjoint(kept_back), who
        assert {"PATH", "SANDBOX_KEY", "DATABASE_URL"} <= names, who
    written = everything_written(project)
    assert not any(part in written for part in (token, *spelled, token[4:20], spelled[-1][8:24]))
    (stream,) = (project.folder / ".ralphy" / "runs").glob("*-story-US-001/stream.ndjson")
    events = [json.loads(line) for line in stream.read_text().splitlines()]
    assert events[-1]["total_cost_usd"] > 0
    assert json.dumps(events).count("[redacted DEPLOY_TOKEN, percent]") > 0
    assert_clean(project)


@pytest.mark.parametrize("step", sampled(["spec", "split"], "split"))
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
def test_what_is_too_big_or_too_much_rejects_the_attempt_and_is_as_it_was_again(tmp_path: Path) -> None:
    limits = {"max_attempts": 2, "max_file_mb": 1, "max_new_files": 10}
    project = build(tmp_path, *(story(f"US-00{number}") for number in range(1, 5)), limits=limits)
    (project.repo / ".gitignore").write_text("*.parquet\n")
    project.git("commit", "--quiet", "--all", "-m", "chore: data is not committed")
    (project.repo / "data").mkdir()
    (project.repo / "data" / "precious.parquet").write_text("years of work")
    many = "mkdir -p {0}/deep; for i in $(seq 6); do echo $i > {0}/$i.csv; echo $i > {0}/deep/$i; done"
    project.play(stories={
        "US-001": [works(run=[["truncate", "-s", "2G", "src/model.bin"]]), works()],
        "US-002": [works(run=[["truncate", "-s", "2M", "src/base.py"]]), works()],
        "US-003": [works(run=[["sh", "-c", many.format("packages")]]), works()],
        "US-004": [works(run=[["sh", "-c", many.format("data")]]), works()],
    })  # fmt: skip

    ended = project.loop(agents=8)

    assert "src/model.bin has 2048.0 MB; more than limits.max_file_mb (1.0)" in ended.text
    assert "13 new files (packages …), more than limits.max_new_files (10)" in ended.text
    assert [outcome for _, outcome in project.outcomes()] == ["rejected", "succeeded"] * 4
    assert len(project.landed()) == 4
    assert int(project.git("count-objects", "-v").split("size: ")[1].split()[0]) < 2048
    assert project.code("src/base.py") == "BASE = 1\n"
    names = [*(f"src/us_00{number}.py" for number in range(1, 5)), "src/base.py", "check.py", ".gitignore"]
    assert {name for name in project.code_files() if not name.startswith(".ralphy/")} == set(names)
    assert [path.name for path in (project.repo / "data").iterdir()] == ["precious.parquet"]
    assert (project.repo / "data" / "precious.parquet").read_text() == "years of work"
    assert_clean(project)
