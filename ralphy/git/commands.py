"""Git as plain verbs: a handful of plumbing commands, each a process of two milliseconds.

No call runs what a repository can configure (fsmonitor, hooks, pager, external diff), and none asks a question.
History is read in `ralphy.git.ledger`, with GitPython.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import stat
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from ralphy.errors import Conflict, EnvironmentProblem, InvalidInput, NotFound
from ralphy.files.disk_space import as_problem, disk_problem_in
from ralphy.files.read import read_regular
from ralphy.files.tree_walk import walk
from ralphy.git import tree_programs
from ralphy.git.reader import ObjectReader
from ralphy.processes import program_paths

# What a repository, or the person's own settings, could make git run, print otherwise or leave out.
SAFE = (
    "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.pager=cat",
    "-c", "core.splitIndex=false",
    "-c", "core.untrackedCache=false", "-c", "gc.auto=0", "-c", "protocol.ext.allow=never",
    "-c", "core.quotePath=false", "-c", "submodule.recurse=false", "-c", "advice.detachedHead=false",
    "-c", "log.showSignature=false", "-c", "core.alternateRefsCommand=", "-c", "maintenance.auto=false",
    "-c", "color.diff=false", "-c", "diff.noprefix=false", "-c", "diff.context=3",
    "-c", "i18n.logOutputEncoding=UTF-8", "-c", "log.mailmap=false",
)  # fmt: skip
DURABLE = ("-c", "core.fsync=all", "-c", "core.fsyncMethod=batch")
# The variables of git that say who works and how a remote is reached. Any other (GIT_DIR in a hook, say) would have
# Ralphy's git look elsewhere or answer in another form.
_KEPT_VARIABLES = re.compile(
    r"GIT_((AUTHOR|COMMITTER)_(NAME|EMAIL)|CONFIG_(GLOBAL|SYSTEM|NOSYSTEM|COUNT|PARAMETERS|KEY_\d+|VALUE_\d+)"
    r"|(SSH|SSL|HTTP|PROXY|CURL_LOW|LFS|ASKPASS|ALLOW_PROTOCOL|PROTOCOL_FROM_USER|EXEC_PATH|CEILING)\w*)"
)
_ON_BRANCH = "ref: refs/heads/"
NOBODY = "Ralphy <ralphy@localhost>"
_RULES = (".gitignore", ".gitattributes")


class GitError(EnvironmentProblem):
    """A git command that failed; `stderr` is its own explanation, `stdout` what it had printed."""

    def __init__(self, args: Iterable[str], code: int, stderr: str, stdout: bytes = b"") -> None:
        super().__init__(f"git {' '.join(args)}: exit {code}: {stderr}")
        self.code = code
        self.stderr = stderr
        self.stdout = stdout


@dataclass(frozen=True, slots=True)
class Repository:
    """A checkout: its root, its own git directory, and the directory that all worktrees share.

    `programs_in_tree` are the settings that make git run a program of the working tree (see `tree_programs`).
    `reader` reads objects and refs.
    """

    root: Path
    git_dir: Path
    common_dir: Path
    object_format: str
    env: Mapping[str, str]
    reader: ObjectReader = field(compare=False)
    programs_in_tree: Mapping[str, str] = field(default_factory=dict)

    @property
    def options(self) -> tuple[str, ...]:
        """What stands before every command of Ralphy's own."""
        return (*SAFE, *tree_programs.switched_off(self.programs_in_tree)) if self.programs_in_tree else SAFE

    @property
    def program(self) -> str:
        """Where git is."""
        return _git(self.env, str(self.root))

    @property
    def null_oid(self) -> str:
        """The id that stands for no object."""
        return "0" * (64 if self.object_format == "sha256" else 40)

    @property
    def token(self) -> str:
        """What marks the processes and temporary folders of this checkout, so that a restart can sweep them."""
        return f"{os.getuid()}:{self.git_dir}"

    @property
    def state_dir(self) -> Path:
        """Where the project's journal and counters live: out of reach of `git clean`."""
        return self.common_dir / "ralphy"

    @property
    def checkout_dir(self) -> Path:
        """Where this checkout's lock, index and intent live."""
        name = "main" if self.git_dir == self.common_dir else f"worktree-{self.git_dir.name}"
        return self.state_dir / "checkouts" / name

    def run(
        self, *args: str, stdin: bytes | IO[bytes] = b"", index: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> bytes:  # fmt: skip
        """The standard output of a git command, with an index of its own or more variables; GitError if it fails."""
        more = {"GIT_INDEX_FILE": str(index)} if index else {}
        return _run((self.program, *self.options, *args), self.root, {**self.env, **more, **(env or {})}, stdin)

    def start(self, *args: str) -> subprocess.Popen[bytes]:
        """A git command that runs beside others."""
        return subprocess.Popen(
            (self.program, *self.options, *args), cwd=self.root, env=self.env, close_fds=False,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def text(self, *args: str) -> str:
        """What it prints, as text."""
        return self.run(*args).decode("utf-8", "replace").strip()


def require_plain_rules(root: Path) -> None:
    """Raises InvalidInput for a .gitignore or .gitattributes that is a pipe or a device: Git would wait for ever.

    Searches every folder but `.git`, ignored ones too: only Git could say which are ignored.
    """
    for entry in walk(root, (".git",)):
        mode = entry.stat.st_mode
        if entry.name in _RULES and (stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)):
            raise InvalidInput("is not a plain file, and Git would wait for it", where=entry.path, hint="remove it")


def _git(env: Mapping[str, str], root: str) -> str:
    """Where git is, outside of the checkout."""
    path = program_paths.find(program_paths.GIT, env, root)
    if path is None:
        raise EnvironmentProblem("git is not on PATH (outside the checkout)",
                                 hint="install git 2.36 or later")  # fmt: skip
    return path


def _run(args: tuple[str, ...], cwd: Path, env: Mapping[str, str], stdin: bytes | IO[bytes] = b"") -> bytes:
    data, file = (stdin, None) if isinstance(stdin, bytes) else (None, stdin)
    try:
        done = subprocess.run(
            args, cwd=cwd, env=env, input=data, stdin=file, capture_output=True, close_fds=False, check=False
        )
    except OSError as error:
        if not cwd.is_dir():
            raise NotFound(f"there is no directory {cwd}") from error
        raise EnvironmentProblem(f"git cannot be started: {error.strerror}", where=str(cwd)) from error
    if done.returncode:
        verbs = [arg for arg in args[1:] if arg not in SAFE]
        raise failure(verbs, done.returncode, done.stderr, str(cwd), done.stdout)
    return done.stdout


def failure(
    words: list[str], code: int, stderr: bytes, where: str, stdout: bytes = b""
) -> GitError | EnvironmentProblem:
    """The error of a failed command: EnvironmentProblem for trouble with the disk, else GitError with git's words."""
    message = stderr.decode("utf-8", "replace").strip()
    if code == -signal.SIGXFSZ:
        return as_problem(OSError(errno.EFBIG, "", where)) or GitError(words, code, message)
    return disk_problem_in(message, where) or GitError(words, code, message, stdout)


def environment(base: Mapping[str, str]) -> dict[str, str]:
    """The environment of Ralphy's own git calls: without prompts, and without an outer git's variables."""
    env = {name: value for name, value in base.items() if not is_foreign(name)}
    return {**env, "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_LITERAL_PATHSPECS": "0", "PYTHONSAFEPATH": "1", "LC_ALL": "C"}  # fmt: skip


def is_foreign(name: str) -> bool:
    """Would this variable let a calling git change what Ralphy's git does?"""
    return name.startswith("GIT_") and not _KEPT_VARIABLES.fullmatch(name)


def discover(start: Path, env: Mapping[str, str] | None = None) -> Repository:
    """The repository that holds `start`.

    Raises NotFound outside of a repository and EnvironmentProblem for a bare one.
    """
    root, base = program_paths.root_around(str(start)), os.environ if env is None else env
    inside = tree_programs.variables_in_tree(Path(root), base) if root else {}
    env = program_paths.own_environment(environment(base), root)
    env = {name: value for name, value in env.items() if name not in inside}
    ask = ("rev-parse", "--path-format=absolute", "--is-bare-repository", "--show-object-format",
           "--absolute-git-dir", "--git-common-dir", "--show-toplevel")  # fmt: skip
    try:
        answer = os.fsdecode(_run((_git(env, root), *SAFE, *ask), start, env)).removesuffix("\n").split("\n")
    except GitError as error:
        if "work tree" in error.stderr:
            raise EnvironmentProblem(f"{start} is a bare repository", hint="use a checkout") from error
        if "dubious ownership" in error.stderr:
            raise EnvironmentProblem(error.stderr.splitlines()[0], where=str(start)) from error
        hint = "`-C DIR` looks in another folder; `git init` makes a repository here"
        raise NotFound(f"{start} is not in a git repository", hint=hint) from error
    if len(answer) != 5:
        raise EnvironmentProblem("the repository's path has a line break", where=repr(str(start)))
    _, object_format, git_dir, common_dir, top = answer
    reader = ObjectReader((_git(env, top), *SAFE), Path(top), env)
    repository = Repository(Path(top), Path(git_dir), Path(common_dir), object_format, env, reader, inside)
    try:
        rows = repository.run("config", "-z", "--get-regexp", tree_programs.SETTINGS)
    except GitError:  # there is none
        return repository
    return replace(
        repository, programs_in_tree={**inside, **tree_programs.settings_in_tree(rows, repository.root, base)}
    )


def current_branch(repository: Repository) -> str:
    """The branch that is checked out; "" where HEAD is detached.

    Every look at a feature needs this, so HEAD is read as the file that it nearly always is. Git answers for the rest:
    a link, as old versions of Git made it, or a format of refs without such files.
    """
    branch = _branch_in(repository.git_dir / "HEAD")
    if branch and branch != ".invalid":
        return branch
    try:
        return repository.text("symbolic-ref", "--quiet", "HEAD").removeprefix("refs/heads/")
    except GitError as error:
        if error.code == 1:
            return ""
        raise


def _branch_in(head: Path) -> str:
    """The branch that a plain HEAD names, else ""."""
    line = (read_regular(head) or b"").decode("utf-8", "replace").rstrip()
    return line.removeprefix(_ON_BRANCH) if line.startswith(_ON_BRANCH) else ""


def head_of(repository: Repository) -> str:
    """The commit that is checked out; "" where there is none yet."""
    return resolve(repository, "HEAD")


def resolve(repository: Repository, ref: str) -> str:
    """The commit id of a full ref name, or ""."""
    return repository.reader.id_of(ref)


def branch_in_the_way(repository: Repository, branch: str) -> str:
    """The branch whose name makes this name impossible (`a` and `a/b` exclude each other); "" if there is none.

    Raises EnvironmentProblem if the branch exists and its commit is missing.
    """
    parts = branch.split("/")
    above = ("/".join(parts[:number]) for number in range(1, len(parts)))
    below = [name.removeprefix("refs/heads/") for name in refs_of(repository, (f"refs/heads/{branch}",))]
    if branch in below and not resolve(repository, f"refs/heads/{branch}"):
        raise EnvironmentProblem(f"the commit of the branch {branch} is missing", hint="git fsck")
    return next((name for name in above if resolve(repository, f"refs/heads/{name}")), next(iter(below), ""))


def refs_of(repository: Repository, folders: Sequence[str] = ("refs",)) -> dict[str, str]:
    """The refs in these folders by their full names, with what they point to."""
    rows = repository.text("for-each-ref", "--format=%(refname) %(objectname)", *folders).splitlines()
    return {name: oid for name, _, oid in (row.partition(" ") for row in rows)}


def require_commit(repository: Repository) -> None:
    """Raises Conflict where there is no commit yet at which a feature could begin."""
    if not head_of(repository):
        raise Conflict("the repository has no commit yet", hint="git commit --allow-empty -m 'Start'")


def identity_of(repository: Repository) -> str:
    """`Name <address>` as git knows the user."""
    try:
        return repository.text("var", "GIT_COMMITTER_IDENT").rsplit(" ", 2)[0]
    except GitError:
        return NOBODY


_MOST_COMMITS = 1000


def is_ancestor(repository: Repository, commit: str, of: str) -> bool:
    """Can `commit` be reached from `of`?"""
    if commit == of:
        return True
    try:
        repository.run("merge-base", "--is-ancestor", commit, of)
    except GitError as error:
        if error.code == 1:
            return False
        raise
    return True


def lines_changed(repository: Repository, old: str, new: str) -> tuple[int, int]:
    """(added, removed) lines between two trees; a binary file has none."""
    out = _diff_trees(repository, "--numstat", "-z", old, new)
    counts = [row.split(b"\t", 2)[:2] for row in out.split(b"\0") if row]
    added, removed = (sum(int(row[side]) for row in counts if row[side].isdigit()) for side in (0, 1))
    return added, removed


def diff_of(repository: Repository, old: str, new: str, path: str) -> bytes:
    """The diff of one file between two trees, without lines around what changed."""
    return _diff_trees(repository, "--patch", "--unified=0", "--text", old, new, "--", f":(top,literal){path}")


def files_with(repository: Repository, tree: str, word: str) -> list[str]:
    """The files of a tree that hold a word."""
    try:
        names = repository.run("grep", "--name-only", "-z", "--word-regexp", "--fixed-strings", "-e", word, tree)
    except GitError:  # exit code 1: there is none
        return []
    return [name.partition(":")[2] for name in names.decode("utf-8", "surrogateescape").split("\0") if name]


def _diff_trees(repository: Repository, *words: str) -> bytes:
    """Run in the Git folder: no `.gitattributes` of a working tree has a say, nor can a pipe in its place stop it."""
    return repository.run("-C", str(repository.git_dir), "--git-dir=.", "--bare", "diff-tree", "-r", "--no-renames",
                          "--no-ext-diff", "--no-textconv", *words)  # fmt: skip


def is_squashed(repository: Repository, tip: str, into: str, outside: str) -> bool:
    """Has one commit of `into` the same patch as the whole branch, but for the folder `outside`?

    By git's patch id, as `git cherry` compares commits: white space and line numbers do not count.
    """
    where = ("--", ".", f":(top,exclude,literal){outside}")
    show = ("--no-ext-diff", "--no-textconv", "--full-index")
    try:
        start = repository.text("merge-base", tip, into)
        wanted = _patch_ids(repository, repository.run("diff", *show, start, tip, *where))
        log = ("log", "-p", "--first-parent", f"--max-count={_MOST_COMMITS}", "--format=commit %H")
        since = repository.run(*log, *show, f"{start}..{into}", *where)
    except GitError:  # unrelated histories, or an object that is not there
        return False
    return bool(wanted) and bool(wanted & _patch_ids(repository, since))


def _patch_ids(repository: Repository, patches: bytes) -> set[str]:
    rows = repository.run("patch-id", "--stable", stdin=patches).decode().split("\n")
    return {row.split(" ")[0] for row in rows if row}
