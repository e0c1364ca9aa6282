"""Stories in Markdown: checklists, spec-kit's tasks.md, and a file with front matter for each task."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ralphy.exchange.plan import ITEM, Files, Plan, Story, named, sections, state_of, story
from ralphy.exchange.source import Row, yaml_source

BOX = re.compile(r"([ \t]*)(?:[-*+]|\d+[.)])\s+\[([^\]]{0,3})\](?!\()\s*(.*)")
_SPEC_KIT = re.compile(r"(T\d+[a-z]?)((?: \[[^\]\n]+\])*) +(\S.*)")
_DEPENDS = re.compile(r"\(depends on ([^)]*)\)")
# `### US-001: Title` and `### Task 1: Title`: the boxes below it are the criteria of one story.
_STORY_HEADING = re.compile(
    r"(#{2,4}) +(?:([A-Z][A-Za-z]*-?\d[\w.-]*)|(?:Task|Story|User Story|Feature|Step) +\d+)\s*[:.—–-]+\s*(\S.*)"
)
_FRONT = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|$)", re.S)
_KEPT = ("module", "estimatedMinutes")

Lines = Sequence[tuple[str, str]]  # (place, line)


def read_checklist(files: Files) -> Plan:
    """Each `- [ ]` item is a story, what is indented below it are its criteria; headings say where it comes from.

    The boxes below a heading that names a story are its criteria.
    """
    plan = Plan()
    for path, text in files.items():
        for place, heading, lines in _blocks(path, text):
            plan.project = plan.project or heading.lstrip("# ")
            found = _STORY_HEADING.fullmatch(heading)
            if found and any(BOX.fullmatch(line) for _, line in lines):
                _take_section(plan, found, place, lines)
            else:
                _take_items(plan, heading.lstrip("# "), lines)
    return plan


def _blocks(path: str, text: str) -> Iterator[tuple[str, str, Lines]]:
    """(place, heading, lines below it); headings below one that names a story are lines of it."""
    place, heading, below, level = path, "", list[tuple[str, str]](), 0
    for number, line in plain_lines(text):
        marks = len(line) - len(line.lstrip("#"))
        if not marks or marks > level > 0:
            below.append((f"{path}:{number}", line))
            continue
        yield place, heading, below
        place, heading, below = f"{path}:{number}", line, []
        level = marks if _STORY_HEADING.fullmatch(line) else 0
    yield place, heading, below


def plain_lines(text: str) -> Iterator[tuple[int, str]]:
    """(number, line) of what is neither in a fence nor in a comment."""
    fence, in_comment = "", False
    for number, whole in enumerate(text.split("\n"), 1):
        line = whole.rstrip()
        mark = re.match(r" {0,3}(`{3,}|~{3,})", line)
        if mark and not in_comment and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
            continue
        if in_comment:
            _, end, line = line.partition("-->")
            in_comment = not end
        line, begun, _ = re.sub(r"<!--.*?-->", "", line).partition("<!--")
        in_comment = in_comment or bool(begun)
        if not fence:
            yield number, line.rstrip()


def _take_section(plan: Plan, heading: re.Match[str], place: str, lines: Lines) -> None:
    """Add the story that a heading names."""
    boxes = [(at, box) for at, line in lines if (box := BOX.fullmatch(line))]
    open_ones = [at for at, box in boxes if state_of_box(box) == "open"]
    for at, box in boxes:
        if state_of_box(box) not in ("open", "done"):
            plan.left_out.append(f"{at}: {box[3]}: [{box[2]}]")
    about = [line for _, line in lines if not BOX.fullmatch(line) and not line.startswith("#")]
    story_id = heading[2] or f"US-{len(plan.stories) + 1:03}"
    criteria = [box[3] for _, box in boxes if state_of_box(box) in ("open", "done") and box[3]]
    plan.add(story(story_id, heading[3], done=not open_ones, priority=len(plan.stories) + 1,
                   description="\n".join(about).strip(), acceptanceCriteria=criteria), place)  # fmt: skip


def state_of_box(box: re.Match[str]) -> str:
    """`open`, `done` or `gone` for what stands in a box; "" for what nobody knows."""
    return state_of(box[2]) if box[2].strip() else "open"


def _take_items(plan: Plan, heading: str, lines: Lines) -> None:
    """Add a story for each box; what is indented below one is its criterion, or goes on with its words."""
    current: Story | None = None
    wraps = False
    for place, line in lines:
        box, item = BOX.fullmatch(line), ITEM.fullmatch(line)
        wraps = bool(item) or (wraps and bool(line))
        if item and item[1]:
            if current:
                current.setdefault("acceptanceCriteria", []).append(box[3] if box else item[3])
        elif box:
            current = _item(plan, box, place, heading if heading != plan.project else "")
        elif item:
            current = None
            plan.left_out.append(f"{place}: {item[3]}: no box")
        elif current and wraps and line[:1].isspace():
            _go_on(current, line)
        elif line:
            current = None


def _item(plan: Plan, box: re.Match[str], place: str, heading: str) -> Story | None:
    text = re.sub(r"^\*\*(.+?)\*\*", r"\1", box[3])
    story_id, title = named(text, len(plan.stories) + 1)
    state = state_of_box(box)
    if state not in ("open", "done") or not title:
        plan.leave_out(story_id if title != text else "", title, f"[{box[2]}]" if title else "no title", place)
        return None
    made = story(story_id, title, done=state == "done", priority=len(plan.stories) + 1, notes=heading)
    plan.add(made, place)
    return made


def _go_on(raw: Story, line: str) -> None:
    """A line that was wrapped goes on with the last criterion, or with the title."""
    if listed := raw.get("acceptanceCriteria"):
        listed[-1] += f" {line.strip()}"
    else:
        raw["title"] += f" {line.strip()}"


def is_spec_kit(text: str) -> bool:
    boxes = (BOX.fullmatch(line) for _, line in plain_lines(text))
    return any(box and not box[1] and _SPEC_KIT.fullmatch(box[3]) for box in boxes)


def read_spec_kit(files: Files) -> Plan:
    """A task is a story; one without [P] waits for the one before it, one with [P] for the last one without. Both wait
    for those that `(depends on T012, T013)` names."""
    plan, phase, last, barrier = Plan(), "", "", ""
    current: Story | None = None
    for path, text in files.items():
        for number, line in plain_lines(text):
            place, box = f"{path}:{number}", BOX.fullmatch(line)
            if line.startswith("#"):
                phase = line.lstrip("# ") if line.startswith("## ") else phase
                plan.project = plan.project or line.lstrip("# ").removeprefix("Tasks:").strip()
            if current and line[:1].isspace() and not ITEM.fullmatch(line):
                _go_on(current, line)
                continue
            current = None
            found = _SPEC_KIT.fullmatch(box[3]) if box and not box[1] else None
            if box and not box[1] and not found:
                plan.left_out.append(f"{place}: {box[3]}: has no id such as T012")
            elif box and found and state_of_box(box) not in ("open", "done"):
                plan.leave_out(found[1], found[3], f"[{box[2]}]", place)
            elif box and found:
                labels = re.findall(r"\[([^\]]+)\]", found[2])
                after = [last if "P" not in labels else barrier]
                notes = "; ".join([phase, *(label for label in labels if label != "P")]).strip("; ")
                current = story(found[1], found[3], done=state_of_box(box) == "done", priority=len(plan.stories) + 1,
                                dependsOn=[one for one in after if one], notes=notes)  # fmt: skip
                plan.add(current, place)
                last = found[1]
                barrier = barrier if "P" in labels else last
    for raw in plan.stories:
        named_ones = re.findall(r"T\d+[a-z]?", " ".join(_DEPENDS.findall(raw["title"])))
        if after := list(dict.fromkeys([*raw.get("dependsOn", ()), *named_ones])):
            raw["dependsOn"] = after
    return plan


def read_task_files(files: Files) -> Plan:
    """A file for each task: front matter with id, module, priority, status, dependencies; then Markdown."""
    plan = Plan()
    for path, text in sorted(files.items()):
        if front := _FRONT.match(text):
            source = yaml_source(front[1], path, first_line=2)
            _take_task(plan, Row(source.root, source, (), f"{path}:1"), text[front.end() :])
        else:
            plan.left_out.append(f"{path}:1: has no front matter")
    return plan


def _take_task(plan: Plan, row: Row, body: str) -> None:
    matter, (state, word) = row.fields(), row.state()
    story_id = row.id()
    if not story_id:
        raise row.refusal("has no id", hint="id: auth.login")
    parts = dict(sections(body))
    lead = parts.pop("", "")
    title = next((line.lstrip("# ") for line in lead.splitlines() if line.startswith("# ")), story_id)
    if state == "gone":
        plan.leave_out(story_id, title, word, row.place)
        return
    about = "\n".join(line for line in lead.splitlines() if not line.startswith("# ")).strip()
    criteria = next((body for name, body in parts.items() if "criteria" in name.lower()), "")
    notes = next((body for name, body in parts.items() if name.lower() == "notes"), "")
    others = [f"{name}\n{body}" for name, body in parts.items() if body not in (criteria, notes)]
    found = story(story_id, title, done=state == "done", description="\n\n".join([about, *others]).strip(),
                  priority=row.rank(0) if matter.get("priority") is not None else None,
                  dependsOn=row.ids("dependencies"), acceptanceCriteria=list(_items(criteria)),
                  notes=notes)  # fmt: skip
    plan.add({**{name: matter[name] for name in _KEPT if name in matter}, **found}, row.place)


def _items(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if item := ITEM.fullmatch(line):
            yield item[3]
