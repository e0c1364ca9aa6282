"""The demonstration: runs `ralphy start` on the toy, passes its gates as a person would, and reads the result."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ralphy.demo.toy import BRANCH, FEATURE, Toy

_READING_S = 0.6  # at each gate, as if a person read the document


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a demonstration; `refs` are the kept attempts, `faults` the reasons why it failed."""

    exit_code: int
    stories: list[dict[str, Any]]
    log: list[str]
    refs: list[str]
    faults: list[str]


def play(toy: Toy, say: Callable[[str], None], *options: str) -> Result:
    """Run the pipeline in its own process, touch APPROVED at both gates, and read the result.

    The run's messages go to this process's stderr at once.
    """
    argv = [sys.executable, "-P", "-m", "ralphy", "start", FEATURE, "--json", *options]
    process = subprocess.Popen(
        argv, cwd=toy.repository, env=toy.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, encoding="utf-8"
    )
    assert process.stdout
    with process:
        try:
            for line in process.stdout:
                _handle(toy, json.loads(line), say)
        except BaseException:
            process.terminate()
            raise
    return _result(toy, process.returncode)


def _handle(toy: Toy, event: Mapping[str, Any], say: Callable[[str], None]) -> None:
    """At a gate, approve as a person does; print an error."""
    if event.get("decision") == "Wait" and str(event.get("phase", "")).startswith("AWAITING_"):
        marker = toy.feature / "APPROVED"
        time.sleep(_READING_S)
        say(f"           $ touch {marker.relative_to(toy.repository)}")
        marker.touch()
    elif "error" in event:
        say(f"ralphy: {event['error']['message']}\n  hint: {event['error']['hint']}")


def _result(toy: Toy, exit_code: int) -> Result:
    prd = toy.feature / "prd.json"
    stories = json.loads(prd.read_text(encoding="utf-8"))["userStories"] if prd.exists() else []
    tip = toy.git("for-each-ref", "--format=%(objectname)", f"refs/heads/{BRANCH}")
    pushed = toy.git("ls-remote", "origin", f"refs/heads/{BRANCH}").split("\t")[0]
    faults = [f"{story['id']} is {story['status']}" for story in stories if story["status"] != "completed"]
    if exit_code or not stories:
        faults.append(f"`ralphy start` ended with {exit_code}, and {len(stories)} stories")
    if pushed != tip:
        faults.append(f"{BRANCH} differs at the remote")
    if toy.git("status", "--porcelain"):
        faults.append("the checkout is not clean")
    log = toy.git("log", "--oneline", "--no-decorate", tip or "HEAD").splitlines()
    refs = toy.git("for-each-ref", "--format=%(refname)", "refs/ralphy").splitlines()
    return Result(exit_code, [_row(story) for story in stories], log, refs, faults)


def _row(story: Mapping[str, Any]) -> dict[str, Any]:
    evidence, execution = story.get("evidence") or {}, story.get("execution") or {}
    return {
        "id": story["id"],
        "title": story["title"],
        "status": story["status"],
        "attempts": execution.get("attempts", 0),
        "cost_usd": evidence.get("cost_usd", 0.0),
        "checks": [check["name"] for check in evidence.get("checks", ()) if check["exit"] == 0],
    }
