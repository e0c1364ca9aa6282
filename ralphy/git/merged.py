"""Is a branch's work in another branch? By ancestry, or as the one commit that a squash merge makes of it."""

from __future__ import annotations

from ralphy.git.commands import GitError, Repository

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


def is_squashed(repository: Repository, tip: str, into: str, outside: str) -> bool:
    """Has one commit of `into` the same patch as the whole branch, but for the folder `outside`?

    By git's patch id, as `git cherry` compares commits: white space and line numbers do not count.
    """
    where = ("--", ".", f":(top,exclude,literal){outside}")
    show = ("--no-ext-diff", "--no-textconv", "--no-color", "--full-index")
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
