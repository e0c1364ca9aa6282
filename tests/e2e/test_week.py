"""A week at work: features one after the other and side by side, and what a person does between them.

Each day is a scene with the real command, real Git and the rehearsal agent. After every day the whole repository is
looked at: every story landed once, main holds what was merged and nothing else, and what the person wrote is there.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from ralphy.errors import ExitCode
from tests.e2e.project import shell

ROOT = Path(__file__).parents[2]
BEFORE = "fe5c12a4c9a25c7b602ec75227d5d9cfa2d32e3a"  # the version that a person had in use before this one
PATIENCE_S = 90.0
NOTES = "buy milk, call Ada\n"
BASE = {
    "shop/__init__.py": "",
    "tests/__init__.py": "",
    "tests/test_shop.py": "import unittest\n\nimport shop\n\n\nclass Shop(unittest.TestCase):\n"
    "    def test_there_is_a_shop(self) -> None:\n        self.assertTrue(shop)\n",
    ".gitignore": "__pycache__/\n",
    "notes.txt": NOTES,
}
WORK = {
    "write": {
        "shop/{{feature}}_{{slug}}.py": "def answer() -> int:\n    return 42\n",
        "tests/test_{{feature}}_{{slug}}.py": (
            "import unittest\n\nfrom shop.{{feature}}_{{slug}} import answer\n\n\n"
            "class Answer(unittest.TestCase):\n"
            "    def test_it_is_42(self) -> None:\n        self.assertEqual(answer(), 42)\n"
        ),
    }
}
SLOW = {"write": {"half.txt": "half of it\n"}, "run": ["sleep", "600"]}


@dataclass(frozen=True, slots=True)
class Called:
    """How a call of `ralphy` ended."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        return self.out + self.err


@dataclass(slots=True)
class Office:
    """The person's checkout, and everything that they have had merged so far."""

    repo: Path
    env: dict[str, str]
    merged: list[str] = field(default_factory=list)

    def ralphy(self, *words: str, at: Path | None = None, code: Path = ROOT) -> Called:
        """Call `ralphy`, of this version or of the one at `code`, in the checkout or in the worktree `at`."""
        done = subprocess.run(
            [sys.executable, "-P", "-m", "ralphy", *words], cwd=at or self.repo, stdin=subprocess.DEVNULL,
            env={**self.env, "PYTHONPATH": str(code)}, capture_output=True, encoding="utf-8", check=False,
            timeout=PATIENCE_S,
        )  # fmt: skip
        assert "Traceback" not in done.stderr, done.stderr
        return Called(done.returncode, done.stdout, done.stderr)

    def loop(self, feature: str, *flags: str, ends: int, at: Path | None = None, code: Path = ROOT) -> Called:
        called = self.ralphy("loop", feature, *flags, at=at, code=code)
        assert called.code == ends, called.said
        return called

    def git(self, *words: str, at: Path | None = None) -> str:
        done = subprocess.run(["git", *words], cwd=at or self.repo, env=self.env, capture_output=True,
                              encoding="utf-8", check=False)  # fmt: skip
        assert done.returncode == 0, f"git {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def folder(self, feature: str, at: Path | None = None) -> Path:
        return (at or self.repo) / "docs" / "features" / feature

    def wish(self, feature: str, *wishes: str, at: Path | None = None) -> None:
        """Write PRD.md."""
        folder = self.folder(feature, at)
        folder.mkdir(parents=True, exist_ok=True)
        lines = "".join(f"- {wish}\n" for wish in wishes)
        (folder / "PRD.md").write_text(f"# {feature.title()}\n\n## Objective\n\n{lines}", encoding="utf-8")

    def touch(self, feature: str, marker: str, text: str = "", at: Path | None = None) -> None:
        (self.folder(feature, at) / marker).write_text(text, encoding="utf-8")

    def prd(self, feature: str, ref: str = "") -> dict[str, Any]:
        path = f"docs/features/{feature}/prd.json"
        found: dict[str, Any] = json.loads(self.git("show", f"{ref or f'ralph/{feature}'}:{path}"))
        return found

    def approved(self, feature: str, at: Path | None = None) -> None:
        """Through both gates from the first one on, to the end."""
        self.touch(feature, "APPROVED", at=at)
        self.loop(feature, ends=ExitCode.WAITING, at=at)
        self.touch(feature, "APPROVED", at=at)
        self.loop(feature, ends=ExitCode.DONE, at=at)

    def merge(self, feature: str, *how: str) -> None:
        """Onto main, as a forge would: with a merge commit, squashed, or by moving main forward."""
        self.git("switch", "--quiet", "main")
        self.git("merge", "--quiet", *(how or ("--no-ff", "--no-edit")), f"ralph/{feature}")
        if "--squash" in how:
            self.git("commit", "--quiet", "--message", f"feat: {feature} (#7)")
        self.merged.append(feature)

    def settings(self, **changed: object) -> None:
        """Change settings by hand and commit them, as one does with a project's own file."""
        path = self.repo / ".ralphy" / "config.yaml"
        found = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        path.write_text(yaml.safe_dump({**found, **changed}), encoding="utf-8")
        self.git("commit", "--quiet", "--message", "chore: settings", "--", ".ralphy/config.yaml")

    def play(self, stories: Mapping[str, Any]) -> None:
        """What agents do from now on."""
        scenario = {"defaults": {"cost_usd": 0.01}, "stories": stories}
        Path(self.env["RALPHY_REHEARSAL"]).write_text(json.dumps(scenario), encoding="utf-8")

    def inbox(self) -> dict[str, Mapping[str, Any]]:
        """`ralphy status --all`: feature -> what it says of it."""
        called = self.ralphy("status", "--all", "--json")
        assert called.code == 0, called.said
        return {row["feature"]: row for row in json.loads(called.out)["features"]}


def landed(office: Office, ref: str, feature: str) -> list[str]:
    """The stories of a feature that have a commit of their own on `ref`, the oldest first."""
    form = "--format=%(trailers:key=Ralphy-Story,valueonly)"
    names = office.git("log", "--reverse", form, ref).split()
    return [name.partition("/")[2] for name in names if name.startswith(f"{feature}/")]


def look(office: Office) -> None:
    """What holds on every evening of the week."""
    assert office.git("fsck", "--strict", "--no-dangling") == ""
    assert office.git("status", "--porcelain") == ""
    assert (office.repo / "notes.txt").read_text(encoding="utf-8") == NOTES
    assert office.ralphy("audit").code == 0
    for feature in office.merged:
        prd = office.prd(feature, "main")
        assert all(story["passes"] for story in prd["userStories"]), feature
        for story in prd["userStories"]:
            name = f"{feature}_{story['id'].lower().replace('-', '_')}"
            office.git("cat-file", "-e", f"main:shop/{name}.py")


@pytest.fixture
def office(tmp_path: Path, private_home: Path) -> Office:
    """A small project with tests that Ralphy has been set up for, on main."""
    repo = tmp_path / "shop"
    for name, text in BASE.items():
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(text, encoding="utf-8")
    scenario = private_home / "scenario.json"
    agent = f"{sys.executable} {ROOT / 'ralphy' / 'rehearsal' / '__main__.py'}"
    counts = str(scenario.with_name("counts.json"))
    env = {
        **shell(RALPHY_REHEARSAL=str(scenario), RALPHY_REHEARSAL_STATE=counts, RALPHY_AGENT_COMMAND=agent),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    office = Office(repo, env)
    office.play({"*": [WORK]})
    office.git("init", "--quiet")
    office.git("add", "--all")
    office.git("commit", "--quiet", "--message", "chore: begin")
    return office


@pytest.fixture
def version_before(tmp_path: Path) -> Path:
    """The version before this one, from this repository's own history."""
    folder = tmp_path / "before"
    folder.mkdir()
    names = ("ralphy", "templates", "schemas", "prd.json.example")
    packed = subprocess.run(["git", "archive", BEFORE, *names], cwd=ROOT, capture_output=True, check=False)
    if packed.returncode:
        pytest.skip(f"this checkout's history does not reach back to {BEFORE[:7]}")
    subprocess.run(["tar", "--extract"], input=packed.stdout, cwd=folder, check=True)
    return folder


def test_an_upgrade_with_a_feature_in_flight(office: Office, version_before: Path) -> None:
    monday_an_upgrade_with_a_feature_in_flight(office, version_before)
    look(office)


@pytest.mark.soak
def test_a_week_of_features(office: Office, version_before: Path, tmp_path: Path) -> None:
    monday_an_upgrade_with_a_feature_in_flight(office, version_before)
    look(office)
    tuesday_prd_json_is_deleted_edited_and_restored(office)
    look(office)
    wednesday_remarks_at_both_gates(office)
    look(office)
    thursday_one_is_rejected_and_one_abandoned(office)
    look(office)
    friday_two_at_once(office, tmp_path / "beside")
    look(office)
    on_sunday_nothing_is_left_to_do(office)
    look(office)


def monday_an_upgrade_with_a_feature_in_flight(office: Office, before: Path) -> None:
    """The version before sets the project up and is killed in the third story; this one goes on from there.

    The version before had its agents work in the checkout. What a killed one left there is the person's to remove.
    """
    assert office.ralphy("init", code=before).code == 0
    office.git("add", "--all")
    office.git("commit", "--quiet", "--message", "chore: set up Ralphy")
    office.wish("accounts", "People sign up", "People sign in", "People sign out")
    office.loop("accounts", ends=ExitCode.WAITING, code=before)
    office.touch("accounts", "APPROVED")
    office.play({"US-003": [SLOW, {"delete": ["half.txt"], **WORK}], "*": [WORK]})
    killed_at(office, "half.txt", "accounts", code=before)
    assert landed(office, "ralph/accounts", "accounts") == ["US-001", "US-002"]

    called = office.loop("accounts", ends=ExitCode.WAITING)
    assert "what it left there stays; see git status" in called.said
    assert office.git("status", "--porcelain", "half.txt") == "?? half.txt"
    assert office.git("ls-tree", "-r", "--name-only", "ralph/accounts", "half.txt") == ""
    (office.repo / "half.txt").unlink()
    assert landed(office, "ralph/accounts", "accounts") == ["US-001", "US-002", "US-003"]
    assert story(office, "accounts", "US-003")["execution"]["attempts"] == 1
    office.touch("accounts", "APPROVED")
    office.loop("accounts", ends=ExitCode.DONE)
    office.play({"*": [WORK]})
    office.merge("accounts")
    office.git("branch", "--quiet", "--delete", "ralph/accounts")


def tuesday_prd_json_is_deleted_edited_and_restored(office: Office) -> None:
    """What a person does to prd.json in the middle of a feature costs no story and no agent."""
    office.settings(limits={"max_attempts": 2})
    office.wish("billing", "Invoices are sent", "Invoices are listed", "Invoices are paid")
    office.loop("billing", ends=ExitCode.WAITING)
    office.touch("billing", "APPROVED")
    office.loop("billing", "--max-iterations", "1", ends=ExitCode.BUDGET)
    plan, spent = office.folder("billing") / "prd.json", runs(office)

    plan.unlink()
    office.loop("billing", "--max-iterations", "1", ends=ExitCode.BUDGET)
    assert json.loads(plan.read_bytes()) == office.prd("billing")
    assert landed(office, "ralph/billing", "billing") == ["US-001", "US-002"]
    assert runs(office) == spent + 1

    text = plan.read_text(encoding="utf-8")
    plan.write_text(text.replace('"Invoices are paid"', '"Invoices are paid in time"'), encoding="utf-8")
    assert plan.read_text(encoding="utf-8") != text
    office.loop("billing", ends=ExitCode.WAITING)
    assert "Invoices are paid in time" in office.git("log", "--format=%s", "ralph/billing")
    assert landed(office, "ralph/billing", "billing") == ["US-001", "US-002", "US-003"]
    office.git("switch", "--quiet", "ralph/billing")
    office.git("revert", "--no-edit", office.git("log", "-1", "--format=%H", "--grep=billing/US-001", "ralph/billing"))
    added = office.ralphy("story", "add", "Reminders are sent", "billing")
    assert added.code == 0, added.said
    office.loop("billing", ends=ExitCode.WAITING)
    assert sorted(landed(office, "ralph/billing", "billing")) == ["US-001", "US-001", "US-002", "US-003", "US-004"]
    office.touch("billing", "APPROVED")
    office.loop("billing", ends=ExitCode.DONE)
    office.merge("billing", "--squash")


def wednesday_remarks_at_both_gates(office: Office) -> None:
    """Sent back once at each gate, then merged by moving main forward."""
    office.settings(checks=[{"name": "test", "run": f"{sys.executable} -m unittest -q", "timeout_s": 60}])
    office.wish("search", "Things are found", "Things are found again")
    office.loop("search", ends=ExitCode.WAITING)
    office.touch("search", "REJECTED", "Say what is searched.\n")
    office.loop("search", ends=ExitCode.WAITING)
    office.touch("search", "APPROVED")
    office.loop("search", ends=ExitCode.WAITING)
    office.touch("search", "REJECTED", "Look at empty queries.\n")
    office.loop("search", ends=ExitCode.WAITING)
    office.touch("search", "APPROVED")
    office.loop("search", ends=ExitCode.DONE)
    assert landed(office, "ralph/search", "search") == ["US-001", "US-002"]
    office.merge("search", "--ff-only")
    office.git("branch", "--quiet", "--delete", "ralph/search")


def thursday_one_is_rejected_and_one_abandoned(office: Office) -> None:
    """A plan that nobody wants after all, and a branch that is deleted half way."""
    office.wish("export", "Everything is exported")
    office.loop("export", ends=ExitCode.WAITING)
    office.touch("export", "REJECTED")
    called = office.ralphy("loop", "export")
    assert called.code != ExitCode.UNEXPECTED
    assert json.loads(office.ralphy("status", "export", "--json").out)["phase"] == "REJECTED"
    shutil.rmtree(office.folder("export"))
    office.git("switch", "--quiet", "main")

    office.wish("import", "Things are imported", "Things are imported twice")
    office.loop("import", ends=ExitCode.WAITING)
    office.touch("import", "APPROVED")
    office.loop("import", "--max-iterations", "1", ends=ExitCode.BUDGET)
    assert landed(office, "ralph/import", "import") == ["US-001"]
    office.git("switch", "--quiet", "main")
    office.git("branch", "--quiet", "-D", "ralph/import")
    if office.folder("import").exists():
        shutil.rmtree(office.folder("import"))


def friday_two_at_once(office: Office, beside: Path) -> None:
    """Two features at once, the second one in a worktree beside the checkout."""
    office.git("worktree", "add", "--quiet", "--detach", str(beside))
    office.git("switch", "--quiet", "--create", "work", at=beside)
    office.wish("themes", "There is a dark theme", "There is a light theme")
    office.wish("labels", "Things have labels", "Labels have colours", at=beside)
    office.loop("themes", ends=ExitCode.WAITING)
    office.loop("labels", ends=ExitCode.WAITING, at=beside)
    office.touch("themes", "APPROVED")
    office.touch("labels", "APPROVED", at=beside)
    both = [
        subprocess.Popen([sys.executable, "-P", "-m", "ralphy", "loop", name], cwd=at, stdin=subprocess.DEVNULL,
                         env={**office.env, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for name, at in (("themes", office.repo), ("labels", beside))
    ]  # fmt: skip
    said = [process.communicate(timeout=PATIENCE_S)[0].decode() for process in both]
    assert [process.returncode for process in both] == [ExitCode.WAITING, ExitCode.WAITING], said
    for name, at in (("themes", office.repo), ("labels", beside)):
        assert landed(office, f"ralph/{name}", name) == ["US-001", "US-002"]
        office.touch(name, "APPROVED", at=at)
        office.loop(name, ends=ExitCode.DONE, at=at)
    office.git("worktree", "remove", "--force", str(beside))
    office.git("switch", "--quiet", "main")
    (office.repo / "shop" / "by_hand.py").write_text("PRICE = 3\n", encoding="utf-8")
    office.git("add", "shop/by_hand.py")
    office.git("commit", "--quiet", "--message", "feat: by hand")
    office.merge("themes")
    office.merge("labels")


def on_sunday_nothing_is_left_to_do(office: Office) -> None:
    """Merged is closed, however it was merged and whether or not its branch is still there."""
    spent = runs(office)
    idle = office.ralphy("loop")
    closed = ", ".join(f"{name} is merged" for name in sorted(office.merged))
    assert (idle.code, idle.out) == (ExitCode.DONE, f"nothing to do: {closed}\n"), idle.err
    assert runs(office) == spent
    shown = office.inbox()
    assert {name: row["phase"] for name, row in shown.items() if name in office.merged} == dict.fromkeys(
        office.merged, "COMPLETED"
    )
    assert office.ralphy("gc").code == 0
    branches = office.git("branch", "--format=%(refname:short)").splitlines()
    assert "ralph/accounts" not in branches and "ralph/import" not in branches


def killed_at(office: Office, path: str, feature: str, code: Path = ROOT) -> None:
    """Call `ralphy loop` and kill it the hard way once its agent has written a file."""
    with subprocess.Popen([sys.executable, "-P", "-m", "ralphy", "loop", feature], cwd=office.repo,
                          env={**office.env, "PYTHONPATH": str(code)}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:  # fmt: skip
        while not (office.repo / path).exists() and process.poll() is None:
            time.sleep(0.05)
        process.kill()
    assert process.returncode == -signal.SIGKILL


def story(office: Office, feature: str, name: str) -> dict[str, Any]:
    found: list[dict[str, Any]] = office.prd(feature)["userStories"]
    return next(story for story in found if story["id"] == name)


def runs(office: Office) -> int:
    """How many agents have been started so far."""
    journal = (office.repo / ".git" / "ralphy" / "journal.jsonl").read_text(encoding="utf-8")
    return sum(json.loads(line)["ev"] == "run" for line in journal.splitlines())
