"""What shows that a person's Git is at work in a checkout."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ralphy.engine.feature.persons_git import (
    index_lock,
    is_index_locked,
    is_index_written,
    operation_in_progress,
    operation_or_bisect,
    wait_for_index,
)
from ralphy.git.commands import Repository, discover

UNFINISHED = {"MERGE_HEAD": "a merge", "CHERRY_PICK_HEAD": "a cherry-pick", "REVERT_HEAD": "a revert",
              "BISECT_LOG": "", "rebase-merge": "a rebase", "rebase-apply": "a rebase"}  # fmt: skip


@pytest.fixture
def repository(git_repo: Path) -> Repository:
    return discover(git_repo)


@pytest.mark.fault("G6")
def test_what_a_person_has_not_finished_is_named(repository: Repository) -> None:
    for mark, name in UNFINISHED.items():
        assert operation_in_progress(repository) == operation_or_bisect(repository) == ""
        (repository.git_dir / mark).touch()
        assert (mark, operation_in_progress(repository)) == (mark, name)
        assert operation_or_bisect(repository) == (name or "a bisect")
        (repository.git_dir / mark).unlink()


def test_a_lock_counts_until_it_is_one_that_a_dead_git_left(repository: Repository) -> None:
    index, lock, now = repository.git_dir / "index", index_lock(repository), time.time()
    index.touch()
    os.utime(index, (now - 5, now - 5))
    assert not is_index_written(repository)
    lock.touch()
    assert is_index_locked(repository) and is_index_written(repository)
    os.utime(lock, (now - 20, now - 20))
    assert not is_index_locked(repository) and not is_index_written(repository)
    assert wait_for_index(repository)
