"""A feature in a small real repository, an agent that plays a scenario, and Ralphy over it, step by step.

    project = build(tmp_path, stories=[story("US-001"), story("US-002", priority=2)])
    project.play(stories={"US-001": [breaks(), works()]})
    ended = project.loop()

The check is a script of 10 ms: it is red while a file in `src/` holds the word BROKEN, and names that file.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ralphy.cli.run.sentences import in_words
from ralphy.config.load import load
from ralphy.config.trust import record_trust
from ralphy.errors import InvalidInput
from ralphy.git.run_lock import Lock
from ralphy.pipeline import decision as d
from ralphy.pipeline.events import Decided, Event, Listener
from ralphy.pipeline.model import Session
from tests.engine.forked import Started, forked

ROOT = Path(__file__).parents[2]
AGENT = [sys.executable, "-I", "-S", str(ROOT / "tests" / "doubles" / "rehearsal_agent.py")]
PATIENCE_S = 120.0
NIGHT_S = 480.0  # a whole feature beside a person, on a machine with much else to do
MOST_RUNS = 50  # that a loop may begin
ONE_RUN: dict[str, Any] = {"agents": 1}

CHECK = """\
import os
import sys

broken = []
for name in sorted(os.listdir("src") if os.path.isdir("src") else []):
    if name.endswith(".py"):
        with open(f"src/{name}") as file:
            if "BROKEN" in file.read():
                broken.append(f"src/{name}")
for path in broken:
    print(f"FAILED {path}::works - the word is there")
sys.exit(1 if broken else 0)
"""
PRD_MD = "# Login\n\n## Objective\n\n- People sign in\n- People sign out\n"

Act = dict[str, Any]


def story(story_id: str, **fields: Any) -> Act:
    """A story of a hand-written prd.json; without a priority it is 1."""
    return {"id": story_id, "title": f"Story {story_id}", "priority": 1, **fields}


def works(**more: Any) -> Act:
    """The act of an agent that writes a file which passes the check."""
    return {"write": {"src/{{slug}}.py": "WORKS = {{attempt}}\n"}, **more}


def breaks(**more: Any) -> Act:
    """The act of an agent that says it is done and leaves the check red."""
    return {"write": {"src/{{slug}}.py": "BROKEN = {{attempt}}\n"}, "say": "All tests pass.", **more}


def reports(verdict: str = "pass", *findings: Mapping[str, str]) -> Act:
    """The act of a QA agent that hands in a report."""
    front = json.dumps({"verdict": verdict, "findings": list(findings)})
    return {"outbox": {"QA_REPORT.md": f"---\n{front}\n---\n# Review {{{{run}}}}\n"}}


@dataclass(frozen=True, slots=True)
class Ended:
    """How a call of the loop ended: the rest, what was said, every event on the way, and what was waited for in a
    decision, in seconds (nobody waits in a test)."""

    rest: d.Rest
    said: Sequence[str]
    events: Sequence[Event]
    pauses: Sequence[float] = ()

    @property
    def code(self) -> int:
        return self.rest.exit_code

    @property
    def decisions(self) -> list[Decided]:
        return [event for event in self.events if isinstance(event, Decided)]

    @property
    def runs(self) -> list[str]:
        """The agent runs, in order: the story's id, or the name of the step."""
        return [run.story or run.step for run in self.decisions if run.decision == "RunAgent"]

    @property
    def text(self) -> str:
        return "\n".join([*self.said, self.rest.reason])


@dataclass(slots=True)
class Project:
    """A repository with one feature; `env` is the shell that Ralphy is called from."""

    repo: Path
    path: str
    scenario: Path
    env: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[-1]

    @property
    def folder(self) -> Path:
        return self.repo / self.path

    @property
    def branch(self) -> str:
        return f"ralph/{self.name}"

    def write(self, name: str, text: str) -> None:
        """Put a file into the feature folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def plan(self, *stories: Act, **root: Any) -> None:
        self.write("prd.json", json.dumps({**root, "userStories": list(stories)}, indent=2))

    def play(self, **scenario: Any) -> None:
        """What the agents do from now on; runs are counted on."""
        self.scenario.write_text(json.dumps(scenario), encoding="utf-8")

    def configure(self, **sections: Any) -> None:
        """Settings of the repository, accepted and committed on the branch that is checked out. Stories are not split,
        unless `limits` say so, and need no proof, unless `verify` and `proof` do: most agents here write no tests."""
        check = [{"name": "test", "run": f"{sys.executable} -S -E check.py"}]
        limits = {"max_splits": 0, **sections.pop("limits", {})}
        verify = {"unproved": "off", **sections.pop("verify", {})}
        proof = {"parts": "off", **sections.pop("proof", {})}
        settings = {"agent": {"command": AGENT}, "checks": check, "limits": limits, "verify": verify, "proof": proof,
                    **sections}  # fmt: skip
        (self.repo / ".ralphy").mkdir(exist_ok=True)
        (self.repo / ".ralphy" / "config.yaml").write_text(json.dumps(settings), encoding="utf-8")
        with suppress(InvalidInput):  # what a run will say
            record_trust(self.repo, load(self.repo, None, env=self.env).loosening, self.env)
        self.commit("chore: settings", ".ralphy/config.yaml")

    def approve(self) -> None:
        (self.folder / "APPROVED").touch()

    def loop(
        self, *, clock: Callable[[], float] | None = None, waits: bool = True, agents: int = MOST_RUNS,
        at: Mapping[str, Callable[[], object]] = MappingProxyType({}), **session: Any,
    ) -> Ended:  # fmt: skip
        """Run the feature to a rest, in this process, or until so many agents have run; `clock` stands in for the wall
        clock. `at` is what a person does when a milestone or a decision of that name is reached for the first time."""
        session = {"runs": MOST_RUNS - agents, **session}
        return run_loop(self, Session(**session), clock, waits=waits, at=dict(at))

    def start(self, *words: str, stdout: int = subprocess.DEVNULL) -> Started:
        """Call `ralphy` as a process of its own."""
        return forked(lambda: called(words), cwd=self.repo, env=self.env, stdout=stdout, stderr=subprocess.PIPE)

    def call(self, *words: str) -> tuple[int, str]:
        """(exit code, stderr) of a call of `ralphy`."""
        with self.start(*words) as process:
            _, said = process.communicate(timeout=PATIENCE_S)
        return process.returncode, said

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.repo, env=self.env, capture_output=True, encoding="utf-8",
                              check=False)  # fmt: skip
        assert done.returncode == 0, f"git {' '.join(words)}: {done.stderr}"
        return done.stdout.rstrip("\n")

    def commit(self, message: str, *paths: str) -> None:
        """Commit these paths as the person does, or all but the documents if none is named."""
        self.git("add", "--all", "--", *(paths or (".", ":!docs")))
        self.git("commit", "--quiet", "-m", message)

    def add_remote(self, bare: Path) -> None:
        """Make a bare repository, which is its origin."""
        self.git("init", "--quiet", "--bare", str(bare))
        self.git("remote", "add", "origin", str(bare))

    def prd(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.read("prd.json"))
        return found

    def story(self, story_id: str) -> dict[str, Any]:
        return next(found for found in self.prd()["userStories"] if found["id"] == story_id)

    def statuses(self) -> dict[str, str]:
        return {found["id"]: found["status"] for found in self.prd()["userStories"]}

    def subjects(self, kind: str = "") -> list[str]:
        """The first lines of the commits since main, oldest first; only those that begin with `kind`."""
        lines = self.git("log", "--reverse", "--format=%s", f"main..{self.branch}").splitlines()
        return [line for line in lines if line.startswith(kind)]

    def landed(self) -> list[str]:
        """The stories of the commits since main, oldest first, by their trailer; none while there is no branch."""
        if not self.refs(f"refs/heads/{self.branch}"):
            return []
        form = "--format=%(trailers:key=Ralphy-Story,valueonly)"
        return self.git("log", "--reverse", form, f"main..{self.branch}").split()

    @property
    def tip(self) -> str:
        """The commit that the feature's branch is at."""
        return self.git("rev-parse", "--verify", f"refs/heads/{self.branch}")

    def code(self, path: str, commit: str = "") -> str:
        """A file's text as a commit has it: the last one of the feature's branch, if none is named."""
        return self.git("show", f"{commit or self.branch}:{path}") + "\n"

    def code_files(self, commit: str = "") -> list[str]:
        """The files of a commit outside of `docs/`, the last one of the feature's branch if none is named."""
        names = self.git("ls-tree", "-r", "-z", "--name-only", commit or self.branch).split("\0")
        return [name for name in names if name and not name.startswith("docs/")]

    def switch(self, branch: str = "") -> None:
        """Stand on a branch as a person does, the feature's if none is named."""
        self.git("switch", "--quiet", branch or self.branch)

    def trailer(self, name: str, commit: str = "") -> str:
        return self.git("log", "-1", f"--format=%(trailers:key={name},valueonly)", commit or self.branch).strip()

    def files_of(self, commit: str) -> list[str]:
        return self.git("show", "--format=", "--name-only", commit).split()

    def commit_of(self, story_id: str) -> str:
        grep = f"--grep=^Ralphy-Story: {self.name}/{story_id}$"
        return self.git("log", "-1", "--format=%H", grep, self.branch)

    def refs(self, under: str = "refs/ralphy") -> list[str]:
        return self.git("for-each-ref", "--format=%(refname)", under).split()

    def journal(self, event: str) -> list[dict[str, Any]]:
        path = self.repo / ".git" / "ralphy" / "journal.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        whole = [json.loads(line) for line in lines if line.endswith("}")]  # a test tears the last one off
        return [entry for entry in whole if entry["ev"] == event]

    def outcomes(self) -> list[tuple[str, str]]:
        """(story or step, outcome) of every run that ended, in order."""
        runs = {entry["run"]: entry.get("story") or entry["step"] for entry in self.journal("run")}
        return [(runs[entry["run"]], entry["outcome"]) for entry in self.journal("end")]

    def prompts(self, of: str) -> list[str]:
        """The prompts of a step's or story's runs, oldest first, as they were kept."""
        found = sorted((self.folder / ".ralphy" / "runs").glob("*/prompt.md"), key=lambda path: path.stat().st_mtime_ns)
        return [path.read_text(encoding="utf-8") for path in found if path.parent.name.endswith(f"-{of}")]

    def set_aside(self) -> list[str]:
        """The names of what was set aside, without their stamps."""
        folder = self.folder / ".ralphy" / "set-aside"
        return sorted(path.name.split("-", 1)[1] for path in folder.glob("[!.]*"))


def build(
    tmp_path: Path, *stories: Act, path: str = "docs/features/login", object_format: str = "sha1", **settings: Any
) -> Project:
    """A repository with a green check; with stories, prd.json is there by hand, else PRD.md.

    Gates of the spec are automatic, unless `settings` say otherwise.
    """
    repo, scenario = tmp_path / "repo", tmp_path / "scenario.json"
    (repo / "src").mkdir(parents=True)
    counts = tmp_path / "rehearsal.json"
    counts.touch()
    env = {**os.environ, "RALPHY_REHEARSAL": str(scenario), "RALPHY_REHEARSAL_STATE": str(counts)}
    shutil.copy(env["GIT_CONFIG_GLOBAL"], Path(env["HOME"]) / ".gitconfig")  # agents get no GIT_ variables
    project = Project(repo, path, scenario, env)
    (repo / "src" / "base.py").write_text("BASE = 1\n", encoding="utf-8")
    (repo / "check.py").write_text(CHECK, encoding="utf-8")
    (repo / ".gitignore").write_text("__pycache__/\n*.log\n", encoding="utf-8")
    project.git("init", "--quiet", f"--object-format={object_format}")
    project.git("add", "--all")
    project.configure(**{"gates": {"spec": "auto", "qa": "human"}, **settings})
    project.play(stories={"*": [works()]})
    if stories:
        project.plan(*stories)
    else:
        project.write("PRD.md", PRD_MD)
    return project


def held(project: Project, purpose: str = "feature login") -> Lock:
    """The checkout's lock, as a Ralphy that works there holds it."""
    return Lock(project.repo / ".git" / "ralphy" / "checkouts" / "main" / "lock", purpose)


def beside(project: Project, at: Path) -> Project:
    """The same feature in a linked worktree, on a branch of its own, with the artifacts that are there now."""
    project.git("worktree", "add", "--quiet", str(at), "-b", at.name, "main")
    other = Project(at, project.path, project.scenario, project.env)
    if not other.folder.exists():
        shutil.copytree(project.folder, other.folder, ignore=shutil.ignore_patterns(".ralphy"))
    return other


def person(project: Project, script: str) -> list[list[str]]:
    """What a person does in the checkout in the middle of a run, as the `run` of an act."""
    kept = [f"{name}={project.env[name]}" for name in ("HOME", "PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM")]
    return [["env", "-i", "-C", str(project.repo), *kept, "sh", "-ec", script]]


def called(words: Sequence[str]) -> int:
    """What `python -m ralphy` does."""
    from ralphy.__main__ import main
    from ralphy.cli.output import _secrets

    _secrets.cache_clear()  # of this environment
    sys.argv = ["ralphy", *words]
    main()
    return 0


def drive(project: Project, *words: str) -> int:
    """Run the driver (see `tests.engine.driver`) to its end; gives its exit code, or fails with what it said."""
    from tests.engine.driver import run

    with forked(lambda: run(str(project.repo), project.path, *words), cwd=project.repo, env=project.env,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:  # fmt: skip
        said, _ = process.communicate(timeout=NIGHT_S)
    assert "Traceback" not in said, said
    sys.stdout.write(said)
    return process.returncode


def open_feature(root: Path, path: str, env: Mapping[str, str]) -> Any:
    """The workspace as the command line opens it."""
    from ralphy.config import load as settings
    from ralphy.documents import feature_folder
    from ralphy.engine.workspace.checkout import Checkout
    from ralphy.engine.workspace.workspace import open_workspace
    from ralphy.git import commands as git

    repository = git.discover(root, env)
    found = feature_folder.find(root, "docs/features", path, root)
    config = settings.load(root, found.folder, env=env).config
    return open_workspace(Checkout.of(repository), found, config, settings.with_stack(config, ()), env)


def run_loop(
    project: Project, session: Session, clock: Callable[[], float] | None, *, waits: bool,
    at: dict[str, Callable[[], object]],
) -> Ended:  # fmt: skip
    from ralphy.engine.reactor import Patience, run_feature

    said: list[str] = []
    events: list[Event] = []
    pauses: list[float] = []

    def reach(name: str) -> None:
        at.pop(name, lambda: None)()

    tell = heard(said)

    def hear(event: Event) -> None:
        events.append(event)
        tell(event)
        if isinstance(event, Decided):
            reach(event.decision)

    with open_feature(project.repo, project.path, project.env) as workspace:
        workspace.session, workspace.listener = session, hear
        workspace.clock = clock or workspace.clock
        workspace.pause = pauses.append
        workspace.milestone = reach
        patience = Patience(gates=False, limits=waits)
        rest = run_feature(workspace, patience)
    return Ended(rest, said, events, pauses)


def heard(said: list[str]) -> Listener:
    """A listener that gathers what a person is told, decisions aside."""
    words = in_words(lambda text, _: said.append(text))
    return lambda event: None if isinstance(event, Decided) else words(event)


def assert_clean(project: Project) -> None:
    """Nothing in the checkout is dirty but the live documents, and these are the branch's; the index is HEAD's, the
    objects are sound, nothing is half done, no lane is held."""
    from ralphy.engine.runs.recover import is_unfinished

    elsewhere = f":(top,exclude,literal){project.path}"
    assert project.git("status", "--porcelain", "--untracked-files=all", "--", ".", elsewhere) == ""
    assert project.git("write-tree") == project.git("rev-parse", "HEAD^{tree}")
    assert project.git("fsck", "--strict", "--no-dangling") == ""
    assert strayed_documents(project) == []
    with open_feature(project.repo, project.path, project.env) as workspace:
        assert not is_unfinished(workspace)
    outboxes = {path.name for path in (project.folder / ".ralphy" / "outbox").glob("[!.]*")}
    assert outboxes & {entry["run"] for entry in project.journal("run")} == set()
    assert [path.name for path in (project.repo / ".git").rglob("*.lock")] == []


def strayed_documents(project: Project) -> list[str]:
    """The documents on the feature's branch that the checkout has not, or has otherwise."""
    rows = project.git("ls-tree", "-r", "-z", project.branch, "--", project.path).split("\0")
    found = {row.partition("\t")[2]: row.split()[2] for row in rows if row}
    there = [path for path in found if (project.repo / path).is_file()]
    hashes = project.git("hash-object", "--no-filters", "--", *there).split() if there else []
    now = dict(zip(there, hashes, strict=True))
    return [path for path, oid in found.items() if now.get(path) != oid]
