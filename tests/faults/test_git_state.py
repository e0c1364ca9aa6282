"""Git's own state: what an agent does to configuration, hooks, refs and stash runs nowhere and is put back."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from subprocess import PIPE

import pytest

from ralphy.errors import ExitCode
from ralphy.git.commands import discover, operation_in_progress
from ralphy.git.ref_state import RefState
from tests.engine.building import Act, Ended, Project, assert_clean, beside, build, drive, story, works
from tests.engine.driver import KILLED

PERSON = ["env", "-u", "GIT_REFLOG_ACTION", "-u", "GIT_CONFIG_COUNT"]
HOOKS = ("pre-commit", "post-commit", "reference-transaction", "post-index-change", "post-checkout", "post-rewrite")


class Canaries:
    """Programs that leave a file when they are run, by the place from which git would run them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.sung = folder, folder / "sung"
        self.sung.mkdir(parents=True)

    def program(self, name: str) -> str:
        path = self.folder / name
        path.write_text(f'#!/bin/sh\ntouch "{self.sung}/{name}"\ncat 2>/dev/null\nexit 0\n')
        path.chmod(0o755)
        return str(path)

    def hooks(self, name: str) -> str:
        folder = self.folder / f"{name}.d"
        folder.mkdir(exist_ok=True)
        for hook in HOOKS:
            shutil.copy(self.program(name), folder / hook)
        return str(folder)

    def config(self) -> str:
        """Everything at once that a configuration can make git run."""
        p, more = self.program, self.folder / "included"
        more.write_text(f'[alias]\n\tstatus = "!{p("alias")}"\n[diff "x"]\n\ttextconv = {p("textconv")}\n')
        attributes = self.folder / "attributes"
        attributes.write_text("* filter=x diff=x merge=x\n")
        return (
            f"[core]\n\tfsmonitor = {p('fsmonitor')}\n\thooksPath = {self.hooks('hooks-path')}\n"
            f"\tpager = {p('pager')}\n\tsshCommand = {p('ssh')}\n\tgitProxy = {p('proxy')}\n"
            f"\taskPass = {p('askpass')}\n\teditor = {p('editor')}\n"
            f"\tattributesFile = {attributes}\n\talternateRefsCommand = {p('alternates')}\n"
            f'[filter "x"]\n\tclean = {p("clean")}\n\tsmudge = {p("smudge")}\n'
            f'[diff]\n\texternal = {p("external")}\n[diff "x"]\n\tcommand = {p("command")}\n'
            f'[merge "x"]\n\tdriver = {p("driver")}\n[credential]\n\thelper = "!{p("credential")}"\n'
            f"[gpg]\n\tprogram = {p('gpg')}\n[commit]\n\tgpgSign = true\n[log]\n\tshowSignature = true\n"
            f"[include]\n\tpath = {more}\n"
        )

    def heard(self) -> set[str]:
        return {path.name for path in self.sung.iterdir()}


@pytest.fixture
def canaries(tmp_path: Path) -> Canaries:
    return Canaries(tmp_path / "canaries")


def appends(path: str, text: str) -> list[list[str]]:
    return [["sh", "-c", 'printf "%s" "$1" >> "$2"', "sh", text, path]]


def hostile(canaries: Canaries) -> Act:
    """An agent that works, and makes git run its programs wherever git can be told to."""
    hooks = [["cp", "-r", f"{canaries.hooks('hook')}/.", ".git/hooks/"]]
    evil = [*appends(".git/config", canaries.config()), *appends(".git/info/attributes", "* filter=x diff=x merge=x\n")]
    home = [["git", "config", "--global", "core.fsmonitor", canaries.program("global")]]
    return works(run=[*hooks, *home, *evil])


def two(tmp_path: Path, act: Act) -> Project:
    project = build(tmp_path, story("US-001"), story("US-002"))
    project.play(stories={"US-001": [act], "US-002": [works()]})
    return project


def meddled(tmp_path: Path, *commands: Sequence[str]) -> tuple[Project, Ended]:
    project = build(tmp_path, story("US-001"))
    project.git("branch", "other")
    project.git("tag", "v1")
    project.play(stories={"US-001": [works(run=[list(command) for command in commands])]})
    return project, project.loop()


def flags(project: Project) -> str:
    return " ".join(project.story("US-001")["evidence"]["warnings"])


def test_plain_git_runs_what_the_canaries_are_made_of(tmp_path: Path, canaries: Canaries) -> None:
    project = build(tmp_path, story("US-001"))
    config = project.repo / ".git" / "config"
    config.write_text(config.read_text() + canaries.config())
    shutil.copytree(canaries.hooks("hook"), project.repo / ".git" / "hooks", dirs_exist_ok=True)
    (project.repo / "src" / "base.py").write_text("X = 1\n")
    for words in (["status"], ["add", "--all"], ["commit", "--no-gpg-sign", "-qm", "x"], ["diff", "HEAD~1"]):
        subprocess.run(["git", *words], cwd=project.repo, env=project.env, capture_output=True, check=False)

    assert canaries.heard() >= {"fsmonitor", "hooks-path", "clean", "command"}


@pytest.mark.fault("G13", "S2")
@pytest.mark.attempt(13)
def test_programs_that_an_agent_puts_into_gits_configuration_never_run(tmp_path: Path, canaries: Canaries) -> None:
    project = two(tmp_path, hostile(canaries))
    before = (project.repo / ".git" / "config").read_text()

    ended = project.loop()

    assert canaries.heard() == set()
    assert project.landed() == ["login/US-001", "login/US-002"]
    assert (project.repo / ".git" / "config").read_text() == before
    assert not (project.repo / ".git" / "hooks" / "pre-commit").exists()
    assert "fsmonitor" not in Path(project.env["HOME"], ".gitconfig").read_text()
    for name in (".git/config", ".git/hooks/pre-commit", ".git/info/attributes", "~/.gitconfig"):
        assert name in flags(project) or name in ended.text
    assert [name for name in project.set_aside() if name.endswith("git__config")]
    assert_clean(project)


@pytest.mark.fault("G13", "P1")
def test_nor_do_they_run_when_ralphy_was_killed_and_starts_again(tmp_path: Path, canaries: Canaries) -> None:
    project = two(tmp_path, hostile(canaries))
    before = (project.repo / ".git" / "config").read_text()
    assert drive(project, "die", "agent_ended", "1") == KILLED
    assert "fsmonitor" in (project.repo / ".git" / "config").read_text()

    ended = project.loop()

    assert canaries.heard() == set()
    assert (project.repo / ".git" / "config").read_text() == before
    assert "changed during the run and put back: " in ended.text
    assert ".git/config" in ended.text
    assert [name for name in project.set_aside() if name.endswith("git__config")]
    assert project.landed() == ["login/US-001", "login/US-002"]
    assert_clean(project)


LARGE = b"#!/bin/sh\nexit 0\n" + b"#" * (5 << 20)


def with_large_hook(tmp_path: Path, meddling: str) -> tuple[Project, Path]:
    """A project with a hook that is too large to be kept, and an agent that works and meddles with it."""
    project = build(tmp_path, story("US-001"))
    hook = project.repo / ".git" / "hooks" / "post-merge"
    hook.parent.mkdir(exist_ok=True)
    hook.write_bytes(LARGE)
    hook.chmod(0o755)
    project.play(stories={"US-001": [works(run=[["sh", "-c", meddling]])]})
    return project, hook


@pytest.mark.parametrize(("meddling", "left"), [
    ("chmod 600 .git/hooks/post-merge", True),
    ("echo x >> .git/hooks/post-merge", False),
    ("echo x > .git/hooks/post-merge", False),
    ("rm .git/hooks/post-merge", False),
])  # fmt: skip
def test_a_hook_that_is_too_large_to_be_kept_is_never_what_an_agent_made_of_it(
    tmp_path: Path, meddling: str, left: bool
) -> None:
    project, hook = with_large_hook(tmp_path, meddling)

    ended = project.loop()

    assert (hook.read_bytes() if hook.exists() else None) == (LARGE if left else None)
    assert not left or hook.stat().st_mode & 0o777 == 0o755
    assert ("post-merge was too large to be kept and cannot be put back" in ended.text) is not left
    assert project.landed() == ["login/US-001"]


@pytest.mark.parametrize(("meddling", "left"), [
    ("chmod 600 .git/hooks/post-merge", True), ("echo x >> .git/hooks/post-merge", False),
])  # fmt: skip
def test_nor_when_ralphy_was_killed(tmp_path: Path, meddling: str, left: bool) -> None:
    project, hook = with_large_hook(tmp_path, meddling)
    assert drive(project, "die", "agent_ended", "1") == KILLED

    project.call("status", "login")

    assert hook.exists() is left
    assert not left or (hook.read_bytes(), hook.stat().st_mode & 0o777) == (LARGE, 0o755)
    found = [path.read_bytes() for path in (project.repo / ".git").glob("ralphy/checkouts/main/found/*post-merge")]
    assert found == ([] if left else [LARGE + b"x\n"])


def husky(tmp_path: Path, command: str) -> tuple[Project, dict[str, bytes]]:
    """Hooks as husky keeps them, in a folder that Git ignores; an agent that does this to them; and what they were."""
    project = two(tmp_path, works(run=[["sh", "-c", command]]))
    (project.repo / ".husky" / "_" / "lib").mkdir(parents=True)
    files = {"_/.gitignore": "*\n", "_/pre-commit": "#!/bin/sh\n", "_/lib/h": "exit 0\n", "pre-push": "exit 1\n"}
    for name, text in files.items():
        (project.repo / ".husky" / name).write_text(text)
    (project.repo / ".husky" / "_" / "pre-commit").chmod(0o755)
    project.git("add", ".husky")
    project.git("commit", "--quiet", "--message", "chore: husky")
    project.git("config", "core.hooksPath", ".husky/_")
    return project, hooks_of(project)


def hooks_of(project: Project) -> dict[str, bytes]:
    there = (project.repo / ".husky").rglob("*")
    return {f"{path.stat().st_mode:o} {path}": path.read_bytes() for path in there if path.is_file()}


EVIL = "echo 'touch evil' |"
MEDDLING = {
    "changed and added": f"{EVIL} tee -a .husky/_/pre-commit .husky/_/lib/h > .husky/_/post-merge",
    "a mode": "chmod 644 .husky/_/pre-commit",
    "another folder in it": f"mkdir .husky/_/more; {EVIL} tee .husky/_/more/post-merge",
    "the folder taken away": "rm -rf .husky/_",
    "a link in its place": f"mv .husky/_ ../was; mkdir ../x; {EVIL} tee ../x/post-merge; ln -s ../../x .husky/_",
}


@pytest.mark.parametrize(("how", "killed"), [*((how, False) for how in MEDDLING), ("changed and added", True)])
@pytest.mark.fault("G13")
def test_hooks_in_a_folder_that_git_ignores_are_put_back(tmp_path: Path, how: str, killed: bool) -> None:
    project, before = husky(tmp_path, MEDDLING[how])
    if killed:
        assert drive(project, "die", "agent_ended", "1") == KILLED

    ended = project.loop()

    assert hooks_of(project) == before
    assert not (project.repo / ".husky" / "_").is_symlink()
    assert project.landed() == ["login/US-001", "login/US-002"]
    assert "put back: .husky/_" in ended.text
    assert not (project.repo / "evil").exists()
    assert_clean(project)


def test_hooks_that_git_tracks_are_code_and_new_ones_too(tmp_path: Path) -> None:
    project, _ = husky(tmp_path, "echo 'exit 0' > .husky/pre-push; echo 'exit 0' > .husky/post-merge")
    project.git("config", "core.hooksPath", ".husky")

    project.loop()

    assert (project.repo / ".husky" / "pre-push").read_text() == "exit 0\n"
    assert project.git("show", f"{project.commit_of('US-001')}:.husky/post-merge") == "exit 0"
    assert_clean(project)


UNUSABLE = {
    "a working tree elsewhere": "[core]\n\tworktree = /nowhere\n",
    "an unknown extension": "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tnonsense = true\n",
}


@pytest.mark.fault("G13", "G16")
@pytest.mark.parametrize("name", UNUSABLE)
def test_a_repository_that_a_dead_run_made_unusable_is_made_usable(tmp_path: Path, name: str) -> None:
    project = two(tmp_path, works(run=appends(".git/config", UNUSABLE[name])))
    assert drive(project, "die", "agent_ended", "1") == KILLED

    project.loop()

    assert project.landed() == ["login/US-001", "login/US-002"]
    assert_clean(project)


def test_a_record_that_was_changed_is_not_believed(tmp_path: Path, canaries: Canaries) -> None:
    project = two(tmp_path, hostile(canaries))
    assert drive(project, "die", "agent_ended", "1") == KILLED
    record = project.repo / ".git" / "ralphy" / "checkouts" / "main" / "git-state.json"
    record.write_bytes(record.read_bytes().replace(b'"head"', b'"tail"'))

    code, said = project.call("loop", "login")

    assert code == ExitCode.CONFLICT
    assert "has been changed" in said
    assert "git-state-open" in said


@pytest.mark.fault("G16")
@pytest.mark.attempt(13)
def test_refs_that_an_agent_moved_deleted_or_made_are_put_back_and_kept(tmp_path: Path) -> None:
    project, ended = meddled(
        tmp_path,
        ["git", "commit", "--quiet", "--allow-empty", "-m", "agent"],
        ["git", "branch", "--force", "other", "HEAD"],
        ["git", "branch", "--quiet", "-D", "main"],
        ["git", "tag", "--force", "v1"],
        ["git", "tag", "fake"],
        ["git", "switch", "--quiet", "--create", "mine"],
        ["git", "commit", "--quiet", "--allow-empty", "-m", "agent"],
        ["git", "switch", "--quiet", "ralph/login"],
        ["git", "replace", "HEAD", "HEAD~1"],
        ["git", "update-ref", "refs/ralphy/login/US-009/attempt-1", "HEAD"],
    )

    base = project.git("rev-parse", "main")
    assert project.git("rev-parse", "other", "v1^{commit}").split() == [base, base]
    refs = project.refs("refs")
    assert not {"refs/tags/fake", "refs/heads/mine", "refs/ralphy/login/US-009/attempt-1"} & set(refs)
    assert project.refs("refs/replace") == []
    kept = {ref.split("/", 5)[5] for ref in refs if "/found/" in ref}
    assert kept >= {"heads/other", "tags/v1", "tags/fake", "heads/mine", "ralphy/login/US-009/attempt-1"}
    assert "refs/heads/main" in flags(project) + ended.text
    assert project.landed() == ["login/US-001"]
    assert_clean(project)


@pytest.mark.fault("G16")
def test_what_a_person_does_in_another_terminal_meanwhile_stands(tmp_path: Path) -> None:
    project, ended = meddled(
        tmp_path,
        [*PERSON, "git", "tag", "v2"],
        [*PERSON, "git", "branch", "idea"],
        [*PERSON, "git", "worktree", "add", "--quiet", "../elsewhere", "other"],
        [*PERSON, "git", "-C", "../elsewhere", "commit", "--quiet", "--allow-empty", "-m", "by hand"],
        [*PERSON, "git", "config", "branch.idea.remote", "origin"],
        [*PERSON, "git", "config", "branch.idea.merge", "refs/heads/idea"],
    )

    assert project.git("log", "-1", "--format=%s", "other") == "by hand"
    assert {"refs/tags/v2", "refs/heads/idea"} <= set(project.refs("refs"))
    assert project.git("config", "branch.idea.merge") == "refs/heads/idea"
    assert "put back" not in ended.text
    assert project.landed() == ["login/US-001"]


@pytest.mark.fault("G16")
def test_a_persons_stash_is_there_again_and_the_agents_is_kept_as_a_ref(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    for text in ("ONE = 1\n", "TWO = 2\n"):
        (project.repo / "src" / "base.py").write_text(text)
        project.git("stash", "push", "--quiet", "-m", text.strip())
    before = project.git("stash", "list")
    stash = [["git", "stash", "clear"], ["sh", "-c", "echo A=1 >> src/base.py"], ["git", "stash", "push", "--quiet"]]
    project.play(stories={"US-001": [works(run=stash)]})

    ended = project.loop()

    assert project.git("stash", "list") == before
    assert project.git("show", "stash@{1}:src/base.py") == "ONE = 1"
    kept = next(ref for ref in project.refs() if ref.endswith("/stash-1"))
    assert f"is kept as {kept}" in ended.text
    assert "the stash" in flags(project)
    assert_clean(project)


OTHER = "docs/features/other"


def drafted(tmp_path: Path, *commands: str) -> tuple[Project, dict[str, bytes]]:
    """A person's uncommitted work in another feature's folder, an agent that does this, and what was in the folder."""
    project = build(tmp_path, story("US-001"))
    project.play(stories={"US-001": [works(run=[["sh", "-c", command] for command in commands]), works()]})
    folder = project.repo / OTHER
    (folder / "notes").mkdir(parents=True)
    (folder / "SPEC.md").write_text("# Spec\n")
    project.git("add", "--all", "--", OTHER)
    project.git("commit", "--quiet", "--message", "chore: another feature")
    (folder / "SPEC.md").write_text("# Spec, edited\n")
    (folder / "PRD.md").write_bytes(b"# Draft\r\n\xff\x00 as it is")
    (folder / "notes" / "try.sh").write_text("#!/bin/sh\n")
    (folder / "notes" / "try.sh").chmod(0o755)
    return project, drafts(project)


def drafts(project: Project) -> dict[str, bytes]:
    there = (project.repo / OTHER).rglob("*")
    return {f"{path.stat().st_mode:o} {path.name}": path.read_bytes() for path in there if path.is_file()}


@pytest.mark.parametrize("killed", [False, True], ids=["", "and Ralphy was killed"])
@pytest.mark.fault("G16")
def test_a_persons_files_that_an_agent_stashed_away_are_there_again(tmp_path: Path, killed: bool) -> None:
    project, before = drafted(tmp_path, "echo A=1 >> src/base.py; git stash push -u --quiet")
    if killed:
        assert drive(project, "die", "agent_ended", "1") == KILLED
        assert list(drafts(project)) == ["100644 SPEC.md"]

    ended = project.loop()

    assert drafts(project) == before
    assert f"the stash, {OTHER}/SPEC.md, {OTHER}/PRD.md, {OTHER}/notes/try.sh" in ended.text
    assert project.git("stash", "list") == ""
    assert project.landed() == ["login/US-001"]


def test_in_a_place_that_was_taken_a_persons_files_are_there_again_and_the_others_are_set_aside(tmp_path: Path) -> None:
    project, before = drafted(tmp_path, "git stash push -u --quiet", f"mkdir -p {OTHER}; echo new > {OTHER}/PRD.md",
                              f"echo more >> {OTHER}/SPEC.md")  # fmt: skip

    ended = project.loop()

    assert drafts(project) == before
    aside = {
        path.name.partition("__other__")[2]: path.read_text()
        for path in (project.folder / ".ralphy/set-aside").glob("*__other__*")
    }
    assert aside == {"PRD.md": "new\n", "SPEC.md": "# Spec\nmore\n"}
    for name in ("PRD.md", "SPEC.md"):
        (where,) = re.findall(rf"other/{name} was stashed away by the agent; it is kept: git show (\S+)", ended.text)
        kept = subprocess.run(["git", "show", where], cwd=project.repo, env=project.env, stdout=PIPE, check=True)
        assert kept.stdout == before[f"100644 {name}"]


def test_a_stash_gives_no_marker_and_no_link(tmp_path: Path) -> None:
    extra = f"touch {OTHER}/APPROVED; ln -s /etc/hostname {OTHER}/link; echo x > elsewhere.txt"
    project, _ = drafted(tmp_path, extra, "git stash push -u --quiet")

    ended = project.loop()

    assert {path.name for path in (project.repo / OTHER).iterdir()} == {"SPEC.md", "PRD.md", "notes"}
    assert not (project.repo / "elsewhere.txt").exists()
    assert f"{OTHER}/APPROVED was stashed away by the agent" in ended.text


def test_a_stash_is_not_written_through_a_link(tmp_path: Path) -> None:
    project, _ = drafted(tmp_path, "git stash push -u --quiet", "mkdir ../away",
                         f"mv {OTHER} ../moved; ln -s ../../../away {OTHER}")  # fmt: skip

    project.loop()

    assert list((tmp_path / "away").iterdir()) == []


@pytest.mark.parametrize("gone", ["HEAD hooks info config", "refs packed-refs"])
@pytest.mark.fault("G16")
def test_a_part_of_gits_folder_that_was_deleted_is_made_again(tmp_path: Path, gone: str) -> None:
    project = build(tmp_path, story("US-001"))
    (project.repo / ".git" / "info" / "exclude").write_text("*.tmp\n")
    project.git("branch", "other")
    project.git("pack-refs", "--all")
    project.git("branch", "loose")
    project.play(stories={"US-001": [works(run=[["rm", "-rf", *(f".git/{name}" for name in gone.split())]])]})

    project.loop()

    assert project.landed() == ["login/US-001"]
    assert set(project.refs("refs/heads")) == {
        f"refs/heads/{name}" for name in ("main", "other", "loose", project.branch)
    }
    assert (project.repo / ".git" / "info" / "exclude").read_text() == "*.tmp\n"
    assert_clean(project)


@pytest.mark.fault("G16")
@pytest.mark.parametrize("then", [["true"], ["git", "init", "--quiet"]], ids=["gone", "made anew"])
def test_a_repository_that_was_deleted_is_a_clear_halt(tmp_path: Path, then: list[str]) -> None:
    project = build(tmp_path, story("US-001"))
    project.play(stories={"US-001": [works(run=[["rm", "-rf", ".git"], then])]})

    code, said = project.call("loop", "login")

    assert code == ExitCode.ENVIRONMENT
    assert "removed or replaced while the agent worked" in said
    assert "Traceback" not in said
    assert (project.repo / "src" / "us_001.py").exists()


@pytest.mark.fault("G16")
def test_the_link_of_a_worktree_to_its_repository_is_put_back(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    other = beside(project, tmp_path / "side")
    other.play(stories={"US-001": [works(run=[["rm", ".git"]])]})

    other.loop()

    assert (other.repo / ".git").is_file()
    assert other.landed() == ["login/US-001"]


def test_refs_by_the_thousand_are_read_once(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    head = project.git("rev-parse", "HEAD")
    rows = "".join(f"create refs/tags/t{i} {head}\n" for i in range(2000))
    subprocess.run(["git", "update-ref", "--stdin"], cwd=project.repo, env=project.env, input=rows.encode(), check=True)
    project.git("pack-refs", "--all")
    state = RefState(discover(project.repo, dict(os.environ)))
    first = state.read()

    opened = count_of_opened_files(state.read)

    assert first["refs/tags/t1999"] == head
    assert opened == 0
    assert state.read() == first


def count_of_opened_files(act: Callable[[], object]) -> int:
    """How many files are opened while `act` runs; folders are not counted."""
    opened: list[str] = []
    is_on = [True]
    sys.addaudithook(lambda name, args: opened.append(str(args[0])) if is_on[0] and name == "open" else None)
    act()
    is_on[0] = False
    return len(opened)


FORGED = """
git add -A && git commit --quiet -m "feat(login): US-001 done" -m "Ralphy-Story: login/US-001"
run=$RALPHY_RUN_ID
printf '{"commit":"%s","branch":"ralph/login","files":[],"end":{"run":"%s","outcome":"succeeded","landed":true}}' \\
  "$(git rev-parse HEAD)" "$run" > .git/ralphy/checkouts/main/intent-login.json
"""


@pytest.mark.fault("G16", "A4")
@pytest.mark.parametrize("point", ["agent_ended", "control_put_back"])
def test_a_commit_that_an_agent_makes_look_like_ralphys_own_is_not_completed(tmp_path: Path, point: str) -> None:
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 2})
    write = {"src/us_001.py": "BROKEN = 1\n"}
    forger = {"write": write, "cheat": {"mark_passed": True}, "run": [["sh", "-c", FORGED]]}
    project.play(stories={"US-001": [forger, works()]})
    assert drive(project, "die", point, "1") == KILLED

    project.loop()

    assert project.outcomes()[:2] == [("US-001", "died"), ("US-001", "succeeded")]
    assert project.landed() == ["login/US-001"]
    assert (project.repo / "src" / "us_001.py").read_text() == "WORKS = 1\n"
    assert any(name.endswith("intent-login.json") for name in project.set_aside())
    assert_clean(project)


BYTES = b"caf\xe9"


CONFLICT = (
    "echo A=9 > src/base.py; git add src; x=$(git commit-tree -p HEAD -m x $(git write-tree));"
    "echo A=8 > src/base.py; git commit -qm y src"
)
UNFINISHED = {
    "bisect": "git bisect start; git bisect bad; git bisect good HEAD~1",
    "merge": f"{CONFLICT}; git merge $x",
    "rebase": f"{CONFLICT}; git rebase --autostash $x",
    "cherry-pick": f"{CONFLICT}; git cherry-pick $x",
    "revert": f"{CONFLICT}; git revert $x",
}


@pytest.mark.parametrize("killed", [False, True], ids=["", "and Ralphy was killed"])
@pytest.mark.parametrize("operation", UNFINISHED)
@pytest.mark.fault("G16")
def test_an_operation_of_git_that_an_agent_leaves_unfinished_is_over(
    tmp_path: Path, operation: str, killed: bool
) -> None:
    project = build(tmp_path, story("US-001"), story("US-002"))
    begins = works(run=[["sh", "-c", f"({UNFINISHED[operation]}; echo A=1 > src/base.py) >/dev/null 2>&1; true"]])
    project.play(stories={"US-001": [begins, works()], "US-002": [works()]})
    if killed:
        assert drive(project, "die", "agent_ended", "1") == KILLED
        assert operation_in_progress(discover(project.repo, dict(os.environ))) == f"a {operation}"

    ended = project.loop()

    assert ended.code == ExitCode.WAITING, ended.text
    assert project.landed() == ["login/US-001", "login/US-002"]
    assert operation_in_progress(discover(project.repo, dict(os.environ))) == ""
    assert_clean(project)


@pytest.mark.fault("G16")
def test_names_that_are_no_text_stop_nothing(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    name, text = os.fsdecode(BYTES), project.repo / "src" / "base.py"
    project.git("branch", name)
    text.write_text("ONE = 1\n")
    project.git("stash", "push", "--quiet")
    log = project.repo / ".git" / "logs" / "refs" / "stash"
    log.write_bytes(log.read_bytes().replace(b"on main: ", b"on ralph/login: " + BYTES))
    before = log.read_bytes()
    assert drive(project, "die", "agent_ended", "1") == KILLED

    project.loop()

    assert project.landed() == ["login/US-001"]
    assert log.read_bytes() == before
    assert (project.repo / ".git" / "refs" / "heads" / name).exists()


@pytest.mark.fault("G16")
def test_a_changed_mode_of_the_hooks_folder_costs_no_hook(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    hooks = project.repo / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    hooks.chmod(0o755)
    (hooks / "pre-push").write_text("#!/bin/sh\n")
    (hooks / "old.sample").write_text("a sample\n")
    project.play(stories={"US-001": [works(run=[["chmod", "700", ".git/hooks"]])]})

    project.loop()

    assert (hooks / "pre-push").read_text() == "#!/bin/sh\n"
    assert (hooks / "old.sample").exists()
    assert hooks.stat().st_mode & 0o777 == 0o755


@pytest.mark.fault("G16")
def test_what_an_editor_notes_of_a_branch_stands(tmp_path: Path) -> None:
    names = {"vscode-merge-base": "origin/main", "gh-merge-base": "main", "pushRemote": "origin",
             "github-pr-owner-number": "owner#repo#12", "description": "An idea; of mine"}  # fmt: skip
    project, ended = meddled(
        tmp_path, *([*PERSON, "git", "config", f"branch.other.{key}", value] for key, value in names.items())
    )

    assert {key: project.git("config", f"branch.other.{key}") for key in names} == names
    assert "put back" not in ended.text


@pytest.mark.fault("G16")
def test_how_a_branch_is_merged_is_no_note_of_an_editors(tmp_path: Path) -> None:
    project, ended = meddled(tmp_path, [*PERSON, "git", "config", "branch.other.mergeoptions", "--strategy=evil"])

    assert "mergeoptions" not in (project.repo / ".git" / "config").read_text()
    assert "put back" in ended.text


@pytest.mark.fault("G13", "S2")
@pytest.mark.timeout(60)
def test_a_program_on_one_line_with_its_section_is_seen(tmp_path: Path, canaries: Canaries) -> None:
    home = Path(os.environ["HOME"], ".gitconfig")
    project = build(tmp_path, story("US-001"))
    before = home.read_text()
    project.play(stories={"US-001": [works(run=appends(str(home), f"[core] fsmonitor = {canaries.program('one')}\n"))]})

    ended = project.loop()

    assert home.read_text() == before
    assert "~/.gitconfig" in ended.text
    assert project.landed() == ["login/US-001"]


@pytest.mark.timeout(60)
def test_a_colour_that_is_added_to_a_persons_settings_stands(tmp_path: Path) -> None:
    home = Path(os.environ["HOME"], ".gitconfig")
    project = build(tmp_path, story("US-001"))
    before = home.read_text()
    project.play(stories={"US-001": [works(run=appends(str(home), "[color] ui = auto\n"))]})

    project.loop()

    assert home.read_text() == f"{before}[color] ui = auto\n"
