"""A change of OpenSpec (openspec/changes/NAME/): the numbered sections of tasks.md, and the scenarios of its specs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ralphy.exchange.markdown import BOX, plain_lines, state_of_box, why_left_out
from ralphy.exchange.plan import Files, ImportPlan, Story, story

_SECTION = re.compile(r"## (\d+)\.\s+(\S.*)")
_PART = re.compile(r"(## |### Requirement:|#### Scenario:)\s*(\S.*)")
_TITLE = re.compile(r"^# (?:Change:\s*)?(\S.*)$", re.M)


def is_openspec(files: Files) -> bool:
    return "tasks.md" in files and "proposal.md" in files


def read_openspec(files: Files) -> ImportPlan:
    """A story for each section of tasks.md, with its checkboxes as tasks; it waits for the one before it. The specs'
    scenarios are the criteria of the last story: by then all of them must hold."""
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
                why = "not below a section such as `## 1. Title`" if current is None else why_left_out(box)
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
    """(path, number) of the lines that are neither headings nor checkboxes: reasons, design, texts of scenarios."""
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
    """Each scenario with its requirement, or the requirement alone; those of REMOVED sections are left out."""
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
