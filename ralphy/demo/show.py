"""The show: `ralphy start` on the toy, its gates passed as a person would, and what came of it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ralphy.demo.toy import BRANCH, FEATURE, Toy
from ralphy.errors import ExitCode

Say = Callable[[str], None]
_READING_S = 0.6  # a person would read the document, at least so long


@dataclass(frozen=True, slots=True)
class Result:
    """What came of it: `faults` says, a sentence each, why the demonstration failed.

    `stories` are as prd.json has them at the end: id, title, status, attempts, cost_usd, and the checks that passed.
    """

    exit_code: int
    stories: tuple[Mapping[str, Any], ...]
    log: tuple[str, ...]
    kept: tuple[str, ...]
    faults: tuple[str, ...]


def play(toy: Toy, say: Say, *options: str, limit_s: float | None) -> Result:
    """Run the pipeline in a process of its own, touch APPROVED at both gates, and look at the end.

    What the run has to tell goes to this process's stderr as it comes. After `limit_s` it is ended.
    """
    argv = [sys.executable, "-P", "-m", "ralphy", "start", FEATURE, "--json", *options]
    process = subprocess.Popen(
        argv, cwd=toy.repository, env=toy.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, encoding="utf-8"
    )
    timer = threading.Timer(limit_s or 0, process.terminate)
    timer.daemon = True
    with process:
        if limit_s:
            timer.start()
        try:
            assert process.stdout
            for line in process.stdout:
                _attend(toy, json.loads(line), say)
        except BaseException:
            process.terminate()
            raise
        finally:
            timer.cancel()
    return _look(toy, process.returncode)


def _attend(toy: Toy, event: Mapping[str, Any], say: Say) -> None:
    """At a gate, do what a person does there; pass on an error; everything else is told on stderr already."""
    if event.get("decision") == "Wait" and str(event.get("phase", "")).startswith("AWAITING_"):
        marker = toy.feature / "APPROVED"
        time.sleep(_READING_S)
        say(f"           $ touch {marker.relative_to(toy.repository)}")
        marker.touch()
    elif "error" in event:
        say(f"ralphy: {event['error']['message']}\n  hint: {event['error']['hint']}")


def _look(toy: Toy, exit_code: int) -> Result:
    stories = tuple(_row(story) for story in _prd(toy).get("userStories", ()))
    log = toy.git("log", "--oneline", "--no-decorate", _tip(toy) or "HEAD").splitlines()
    kept = toy.git("for-each-ref", "--format=%(refname)", "refs/ralphy").splitlines()
    return Result(exit_code, stories, tuple(log), tuple(kept), tuple(_faults(toy, exit_code, stories)))


def _tip(toy: Toy) -> str:
    """The commit that the feature's branch is at; "" if there is no branch."""
    return toy.git("for-each-ref", "--format=%(objectname)", f"refs/heads/{BRANCH}")


def _prd(toy: Toy) -> dict[str, Any]:
    path = toy.feature / "prd.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def _row(story: Mapping[str, Any]) -> dict[str, Any]:
    evidence, execution = story.get("evidence") or {}, story.get("execution") or {}
    passed = [check["name"] for check in evidence.get("checks", ()) if check["exit"] == 0]
    return {"id": story["id"], "title": story["title"], "status": story.get("status", "pending"),
            "attempts": execution.get("attempts") or 0, "cost_usd": evidence.get("cost_usd") or 0.0,
            "checks": passed}  # fmt: skip


def _faults(toy: Toy, exit_code: int, stories: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is not as it must be: a demonstration that ends well has none."""
    branch = f"refs/heads/{BRANCH}"
    pushed = toy.git("ls-remote", "origin", branch).split("\t")[0]
    found = (
        (exit_code != ExitCode.DONE, f"ralphy start ended with {exit_code}"),
        (not stories, "there are no stories"),
        *((story["status"] != "completed", f"{story['id']} is {story['status']}") for story in stories),
        (pushed != _tip(toy), f"{BRANCH} is not at the remote as it is here"),
        (bool(toy.git("status", "--porcelain")), "the checkout is not clean"),
    )
    return [what for is_so, what in found if is_so]
