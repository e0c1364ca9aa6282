"""The changes, judged by several processes; each has a scratch folder of its own, and runs a project's checks once."""

from __future__ import annotations

import atexit
import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from functools import cache

from bench.cheats.corpus import Change, Project
from bench.cheats.judging import Answer, Base
from bench.ground import Ground, ground

_BASES: dict[str, Base] = {}


def judged(wanted: Sequence[tuple[Project, Change]], jobs: int) -> Iterator[Answer]:
    """The answers, as they come."""
    with ProcessPoolExecutor(min(jobs, len(wanted)), multiprocessing.get_context("spawn")) as pool:
        for begun in as_completed([pool.submit(_judge, project, change) for project, change in wanted]):
            yield begun.result()


def _judge(project: Project, change: Change) -> Answer:
    if project.runner not in _BASES:
        _BASES[project.runner] = Base(_place(), project)
    return _BASES[project.runner].judge(change)


@cache
def _place() -> Ground:
    """This process's scratch folder, which goes away with it."""
    held = ExitStack()
    atexit.register(held.close)
    return held.enter_context(ground())
