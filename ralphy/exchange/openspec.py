"""A change of OpenSpec (openspec/changes/NAME/): the numbered sections of tasks.md, and the scenarios of its specs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ralphy.exchange.markdown import BOX, box_words, plain_lines, state_of_box
from ralphy.exchange.plan import Files, ImportPlan, Story, story

_SECTION = re.compile(r"## (\d+)\.\s+(\S.*)")
_PART = re.compile(r"(## |### Requirement:|#### Scenario:)\s*(\S.*)")
_TITLE = re.compile(r"^# (?:Change:\s*)?(\S.*)$", re.M)


def is_openspec(files: Files) -> bool:
    return "tasks.md" in files and "proposal.md" in files


def read_openspec(files: Files) -> ImportPlan:
    """A section of tasks.md is a story that waits for the one before it, its boxes are its tasks. What the specs ask
    for are the criteria of the last one: by then all of it must hold."""
    title = _TITLE.search(files.get("proposal.md", ""))
    plan = ImportPlan(title[1].strip() if title else "")
    current: Story | None = None
    for number, line in plain_lines(files.get("tasks.md", "")):
        place = f"tasks.md:{number}"
        if line.startswith("## "):
            section = _SECTION.fullmatch(line)
            current = _section(plan, section, place) if section else None
        elif box := BOX.fullmatch(line):
            if current is None or state_of_box(box) not in ("open", "done"):
                why = "not below a section such as `## 1. Title`" if current is None else box_words(box)
                plan.left_out.append(f"{place}: {box[3]}: {why}")
            else:
                current["tasks"].append({"description": box[3], "done": state_of_box(box) == "done"})
    for path, number in _text(files):
        plan.leave_out_line(path, number)
    for raw in plan.stories:
        if raw["tasks"] and all(task["done"] for task in raw["tasks"]):
            raw |= {"passes": True, "status": "completed"}
    if plan.stories and (criteria := list(_criteria(files))):
        plan.stories[-1]["acceptanceCriteria"] = criteria
    return plan


def _text(files: Files) -> Iterator[tuple[str, int]]:
    """The lines that are neither headings nor boxes: why it is wanted, its design, the words of its scenarios."""
    for path, text in sorted(files.items()):
        for number, line in enumerate(text.split("\n"), 1):
            is_box = path == "tasks.md" and BOX.fullmatch(line)
            if line.strip() and not line.startswith("#") and not is_box:
                yield path, number


def _section(plan: ImportPlan, heading: re.Match[str], place: str) -> Story:
    after = [plan.stories[-1]["id"]] if plan.stories else []
    made = story(f"OS-{heading[1]}", heading[2], dependsOn=after, priority=len(plan.stories) + 1) | {"tasks": []}
    plan.add(made, place)
    return made


def _criteria(files: Files) -> Iterator[str]:
    """The scenarios, each with its requirement; a requirement without one stands for itself, a removed one is none."""
    asked: list[tuple[str, list[str]]] = []
    for path, text in sorted(files.items()):
        is_removed = not path.startswith("specs/")
        for part, title in (match.groups() for _, line in plain_lines(text) if (match := _PART.fullmatch(line))):
            if part == "## ":
                is_removed = not path.startswith("specs/") or title.startswith("REMOVED")
            elif not is_removed and part == "### Requirement:":
                asked.append((title, []))
            elif not is_removed and asked:
                asked[-1][1].append(title)
    for requirement, scenarios in asked:
        yield from [f"{requirement}: {scenario}" for scenario in scenarios] or [requirement]
