"""Pull requests with the real gh against a loopback GitHub, and real pushes to a bare repository."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from ralphy.errors import Conflict, EnvironmentProblem, ExitCode, InvalidInput
from ralphy.forge.body import PullRequestText
from ralphy.forge.github import GitHub
from ralphy.forge.push import Remote, github_repo, push, remote
from tests.conftest import RunGit, is_gone, program
from tests.doubles.github_api import GitHubApi, loopback_github

ORIGIN = Remote("origin", "https://github.com/acme/widget.git", "github.com", "acme", "widget")
TEXT = PullRequestText("--Login, at last", "It works.\n\n| a | b |\n")
BRANCH = "ralphy/login"


def find_gh() -> str | None:
    """The gh of the development environment, else the one on PATH."""
    beside = Path(sys.executable).parent / "gh"
    return str(beside) if beside.exists() else shutil.which("gh")


real_gh = [
    pytest.mark.real_gh,
    pytest.mark.skipif(find_gh() is None, reason="gh is not installed (the dev extra brings it)"),
]


def gh_environment(api: GitHubApi, token: str = "ghp_FAKE") -> dict[str, str]:
    config = api.path.parent / "gh"
    api.configure(config)
    path = f"{Path(find_gh() or '').parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "GH_CONFIG_DIR": str(config), "GH_TOKEN": token}


@pytest.fixture
def api() -> Iterator[GitHubApi]:
    with loopback_github() as running:
        yield running


@pytest.fixture
def github(api: GitHubApi) -> GitHub:
    return GitHub(ORIGIN, gh_environment(api))


class TestAPullRequest:
    pytestmark = real_gh

    def test_it_is_created_with_its_text_labels_and_draft_state(self, github: GitHub, api: GitHubApi) -> None:
        made = github.create(BRANCH, "main", TEXT, draft=True, labels=["ralphy"], reviewers=["team-lead"])

        (there,) = api.world.prs
        assert (made.number, made.url) == (1, "https://github.com/acme/widget/pull/1")
        assert not made.adopted
        assert made.warnings == ()
        assert (there["title"], there["body"]) == (TEXT.title, TEXT.body)
        assert (there["headRefName"], there["baseRefName"]) == (BRANCH, "main")
        assert (there["isDraft"], there["labels"], there["reviewers"]) == (True, ["ralphy"], ["team-lead"])

    def test_one_onto_another_base_is_adopted_with_a_warning(self, github: GitHub, api: GitHubApi) -> None:
        api.world.add(BRANCH, "develop")

        found = github.create(BRANCH, "main", TEXT)

        assert found.warnings == ("its base is develop, not main",)
        assert len(api.world.prs) == 1

    @pytest.mark.parametrize("other", [{"isCrossRepository": True}, {"state": "CLOSED"}], ids=["a fork's", "closed"])
    def test_a_strangers_or_a_closed_one_is_not_adopted(
        self, github: GitHub, api: GitHubApi, other: dict[str, object]
    ) -> None:
        api.world.add(BRANCH).update(other)

        assert github.find(BRANCH) is None
        assert github.create(BRANCH, "main", TEXT).number == 2

    @pytest.mark.fault("H2")
    def test_a_bad_gateway_is_followed_by_a_second_try_and_two_are_an_environment_problem(
        self, github: GitHub, api: GitHubApi
    ) -> None:
        api.fail("createPullRequest", status=502, times=2)
        with pytest.raises(EnvironmentProblem, match="502"):
            github.create(BRANCH, "main", TEXT)
        assert api.world.prs == []
        assert api.operations().count("PullRequestCreate") == 2
        api.fail("createPullRequest", status=502)

        made = github.create(BRANCH, "main", TEXT)

        assert (made.number, made.adopted, len(api.world.prs)) == (1, False, 1)

    @pytest.mark.fault("H3")
    def test_an_unknown_label_or_reviewer_is_left_out_with_a_warning(self, github: GitHub, api: GitHubApi) -> None:
        made = github.create(BRANCH, "main", TEXT, labels=["nope", "ralphy"], reviewers=["nobody"])

        assert api.world.prs[0]["labels"] == ["ralphy"]
        told = " ".join(made.warnings)
        assert "left out: " in told and "nope" in told and "nobody" in told
        assert len(api.world.prs) == 1

    @pytest.mark.fault("H4")
    def test_a_rate_limit_is_not_hammered(self, github: GitHub, api: GitHubApi) -> None:
        limit = {"message": "You have exceeded a secondary rate limit"}
        api.fail("createPullRequest", status=403, body=limit, headers={"Retry-After": "60"}, times=9)

        with pytest.raises(EnvironmentProblem, match="secondary rate limit") as caught:
            github.create(BRANCH, "main", TEXT)
        assert "minutes" in caught.value.hint
        assert api.operations().count("PullRequestCreate") == 1

    @pytest.mark.fault("H4")
    def test_a_silent_forge_is_given_up_after_the_timeout(self, api: GitHubApi) -> None:
        api.fail("PullRequestList", delay=30, times=9)

        with pytest.raises(EnvironmentProblem, match=r"no answer within 0\.5 s"):
            GitHub(ORIGIN, gh_environment(api), timeout_s=0.5).create(BRANCH, "main", TEXT)


class TestAvailability:
    pytestmark = real_gh

    def test_a_login_that_works_is_fine_and_a_bad_one_or_none_says_how_to_log_in(
        self, github: GitHub, api: GitHubApi
    ) -> None:
        assert github.available() is None
        for token in ("bad", ""):
            why = GitHub(ORIGIN, gh_environment(api, token)).available()
            assert why is not None
            assert "not logged in to github.com" in why
            assert "gh auth login" in why


@pytest.mark.fault("H1")
def test_gh_that_is_not_installed_and_a_local_remote_that_is_no_forge_are_said(tmp_path: Path) -> None:
    assert GitHub(ORIGIN, {"PATH": str(tmp_path)}).available() == "gh (the GitHub CLI) is not on PATH"
    assert "not on GitHub" in str(GitHub(Remote("origin", "/srv/widget.git"), {}).available())


@pytest.fixture
def bare(tmp_path: Path, git: RunGit) -> Path:
    """The remote of `git_repo`, with main pushed; to the forge's eye it is acme/widget."""
    git("init", "--quiet", "--bare", str(tmp_path / "remote.git"))
    git("remote", "add", "origin", ORIGIN.url)
    git("config", "remote.origin.pushurl", str(tmp_path / "remote.git"))
    git("push", "--quiet", "origin", "main")
    return tmp_path / "remote.git"


def commit(git: RunGit, name: str) -> str:
    git("commit", "--quiet", "--allow-empty", "--message", name)
    return git("rev-parse", "HEAD")


def pushed(repo: Path, oid: str, branch: str = BRANCH) -> None:
    push(repo, remote(repo, env=os.environ), oid, branch, ["trunk"], env=os.environ)


class TestAPush:
    def test_a_base_branch_or_the_remotes_own_default_is_never_pushed(
        self, git_repo: Path, git: RunGit, bare: Path
    ) -> None:
        for branch in ("main", "master", "Main", "trunk"):
            with pytest.raises(Conflict, match="never pushes"):
                pushed(git_repo, commit(git, "one"), branch)
        assert git("for-each-ref", "--format=%(refname)", cwd=bare) == "refs/heads/main"
        git("push", "--quiet", "origin", "main:stable")
        git("symbolic-ref", "HEAD", "refs/heads/stable", cwd=bare)
        with pytest.raises(Conflict, match="never pushes to stable"):
            pushed(git_repo, commit(git, "one"), "stable")

    @pytest.mark.fault("G15")
    def test_a_rule_of_the_forge_is_a_conflict(self, git_repo: Path, git: RunGit, bare: Path) -> None:
        program(bare / "hooks" / "pre-receive", "exit 1")
        with pytest.raises(Conflict, match=f"{BRANCH} was refused: "):
            pushed(git_repo, commit(git, "one"))

    def test_a_remote_whose_disk_is_full_is_an_environment_problem(
        self, git_repo: Path, git: RunGit, bare: Path
    ) -> None:
        # Where no byte of a file can be written, as on a full disk.
        git("config", "remote.origin.receivepack", "ulimit -f 0; git-receive-pack")

        with pytest.raises(EnvironmentProblem, match=f"could not store the push of {BRANCH}: ") as caught:
            pushed(git_repo, commit(git, "one"))
        assert caught.value.exit_code == ExitCode.ENVIRONMENT
        assert "disk may be full" in caught.value.hint
        assert git("for-each-ref", "--format=%(refname)", cwd=bare) == "refs/heads/main"

    def test_hooks_of_the_checkout_do_not_run(self, git_repo: Path, git: RunGit, bare: Path, tmp_path: Path) -> None:
        program(git_repo / ".git" / "hooks" / "pre-push", f"touch '{tmp_path}/ran'")

        pushed(git_repo, commit(git, "one"))
        assert not (tmp_path / "ran").exists()

    @pytest.mark.fault("G7")
    def test_a_remote_that_is_gone_is_an_environment_problem(self, git_repo: Path, git: RunGit, bare: Path) -> None:
        shutil.rmtree(bare)

        with pytest.raises(EnvironmentProblem, match="does not appear to be a git repository"):
            pushed(git_repo, commit(git, "one"))

    @pytest.mark.fault("G15")
    def test_a_remote_that_never_answers_is_given_up(
        self, git_repo: Path, git: RunGit, bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("ralphy.forge.push.PUSH_TIMEOUT_S", 1.0)
        ssh = program(tmp_path / "ssh", f"echo $$ > '{tmp_path}/pid'\nexec sleep 600")
        git("config", "remote.origin.pushurl", "git@github.com:acme/widget.git")
        env = {**os.environ, "GIT_SSH_COMMAND": str(ssh)}

        with pytest.raises(EnvironmentProblem, match="no answer within 1 s"):
            push(git_repo, ORIGIN, commit(git, "one"), BRANCH, [], env=env)
        assert is_gone(int((tmp_path / "pid").read_text()))

    def test_no_access_says_how_to_log_in_and_keeps_the_password(
        self, git_repo: Path, git: RunGit, tmp_path: Path
    ) -> None:
        git("remote", "add", "origin", "https://github.com/acme/widget.git")
        git("config", "remote.origin.pushurl", "ssh://me:hunter2@github.com/acme/widget.git")
        ssh = program(tmp_path / "ssh", "echo 'git@github.com: Permission denied (publickey).' >&2\nexit 255")
        env = {**os.environ, "GIT_SSH_COMMAND": str(ssh), "GIT_SSH_VARIANT": "ssh"}

        with pytest.raises(EnvironmentProblem, match="Permission denied") as caught:
            push(git_repo, ORIGIN, commit(git, "one"), BRANCH, [], env=env)
        assert "gh auth" in caught.value.hint
        assert "hunter2" not in str(caught.value)

    def test_a_name_that_is_no_branch_and_what_is_no_commit_id_are_refused(
        self, git_repo: Path, git: RunGit, bare: Path
    ) -> None:
        for branch in ("-f", "a..b", "a b", "a:main", "", "x.lock"):
            with pytest.raises(InvalidInput, match="not a branch name"):
                pushed(git_repo, git("rev-parse", "HEAD"), branch)
        with pytest.raises(InvalidInput, match="not a full commit id"):
            pushed(git_repo, "+HEAD")


@pytest.mark.parametrize(
    ("remotes", "found"),
    [
        ({"another": "https://example.org/a/b.git", "origin": ORIGIN.url}, "github.com/acme/widget"),
        ({"hub": "git@github.com:acme/widget.git"}, "github.com/acme/widget"),
        ({}, "there is no remote"),
        ({"one": ORIGIN.url, "two": ORIGIN.url}, "one, two"),
    ],
)
def test_the_remote_is_origin_or_the_only_one(git_repo: Path, git: RunGit, remotes: dict[str, str], found: str) -> None:
    for name, url in remotes.items():
        git("remote", "add", name, url)
    if found.startswith("github"):
        assert remote(git_repo, env=os.environ).slug == found
    else:
        with pytest.raises(EnvironmentProblem, match=found):
            remote(git_repo, env=os.environ)


URLS = {
    "https://github.com/acme/widget.git": ("github.com", "acme", "widget"),
    "https://me:token@github.com/acme/widget": ("github.com", "acme", "widget"),
    "https://GitHub.com/acme/wid.get.git/": ("github.com", "acme", "wid.get"),
    "git@github.com:acme/widget.git": ("github.com", "acme", "widget"),
    "ssh://git@ssh.github.com:443/acme/widget.git": ("github.com", "acme", "widget"),
    "ssh://git@forge.example.org:2222/acme/widget": ("forge.example.org", "acme", "widget"),
    "work:acme/widget.git": ("github.com", "acme", "widget"),
    "/srv/git/widget.git": None,
    "../widget.git": None,
    "file:///srv/acme/widget.git": None,
    "https://example.org/one/two/three": None,
    "": None,
}


def test_a_repository_is_read_from_its_url_and_gh_host_says_what_an_alias_of_ssh_stands_for() -> None:
    assert {url: github_repo(url, {}) for url in URLS} == URLS
    env = {"GH_HOST": "forge.example.org"}
    assert github_repo("work:acme/widget", env) == ("forge.example.org", "acme", "widget")
    assert github_repo("git@github.com:acme/widget", env) == ("github.com", "acme", "widget")


def test_an_environment_is_all_that_gh_is_given(tmp_path: Path) -> None:
    """gh sees the caller's environment and the quiet settings, nothing of this process's own."""
    program(tmp_path / "gh", f"env > '{tmp_path}/env'")
    given: Mapping[str, str] = {"PATH": f"{tmp_path}:/usr/bin:/bin", "GH_DEBUG": "api", "MINE": "1"}

    assert GitHub(ORIGIN, given).available() is None
    seen = dict(line.split("=", 1) for line in (tmp_path / "env").read_text().splitlines())
    assert (seen["MINE"], seen["GH_PROMPT_DISABLED"], seen["NO_COLOR"]) == ("1", "1", "1")
    assert "GH_DEBUG" not in seen
    assert "HOME" not in seen
