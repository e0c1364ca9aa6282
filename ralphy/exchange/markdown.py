"""Stories in Markdown: checklists, spec-kit's tasks.md, and a file with front matter for each task."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ralphy.errors import InvalidInput
from ralphy.exchange.plan import Files, ImportPlan, Story, named, sections, state_of, story
from ralphy.exchange.source import FINISHED, StoryRow, text_of, yaml_source
from ralphy.text.markdown import ITEM, outside_fences, split_front_matter

BOX = re.compile(r"([ \t]*)(?:[-*+]|\d+[.)])\s+\[([^\]]{0,3})\](?!\()(?:\*(?=\s))?\s*(.*)")
_SPEC_KIT = re.compile(r"(T\d+[a-z]?):?((?: \[[^\]\n]+\])*) +(\S.*)")
_DEPENDS = re.compile(r"\(depends on ([^)]*)\)")
# `### US-001: Title` and `### Task 1: Title`: the checkboxes below it are the criteria of one story.
_STORY_HEADING = re.compile(
    r"(?:#{2,4} +(?:([A-Z][A-Za-z]*-?\d[\w.-]*)|(?:Task|Feature|Step) +[\d.]*\d)|#{1,4} +(?:User )?Story +[\d.]*\d)"
    r"\s*[:.—–-]+\s*(\S.*)"
)
# Checkboxes below such a heading are criteria; without a story above it, they belong to none.
_CRITERIA_HEADING = re.compile(r"#+ .*\b(?:acceptance|criteria|definition of done|success metrics)\b.*", re.I)
_CRITERIA_LABEL = re.compile(r"\W*(?:acceptance )?criteria\W*", re.I)
_EXTRA_FIELDS = ("module", "estimatedMinutes")
_MATTER = (*_EXTRA_FIELDS, *FINISHED, "id", "story_id", "title", "name", "priority", "dependencies", "depends_on")

Lines = Sequence[tuple[str, str]]  # (place, line)


def read_checklist(files: Files) -> ImportPlan:
    """A story for each `- [ ]` item, with what is indented below it as criteria, and its heading as a note.

    The checkboxes below a heading that names a story are its criteria. Raises InvalidInput if there are criteria, but
    no story.
    """
    plan, criteria = ImportPlan(), list[tuple[str, str]]()
    for path, text in files.items():
        for place, heading, lines in _blocks(plan, path, text):
            plan.project = plan.project or heading.lstrip("# ")
            match = _STORY_HEADING.fullmatch(heading)
            if match and any(BOX.fullmatch(line) for _, line in lines):
                _take_section(plan, match, place, lines)
            else:
                begin = next((n for n, (_, line) in enumerate(lines) if _CRITERIA_LABEL.fullmatch(line)), len(lines))
                begin = 0 if _CRITERIA_HEADING.fullmatch(heading) else begin
                _take_items(plan, heading.lstrip("# "), lines[:begin])
                criteria += [(at, box[3]) for at, line in lines[begin:] if (box := BOX.fullmatch(line))]
    if criteria and not plan.stories:
        raise InvalidInput("the boxes are criteria, and no heading above them names a story", where=criteria[0][0],
                           hint='begin each story with a heading such as "### US-001: Title"')  # fmt: skip
    plan.left_out += [f"{at}: {text}: a criterion of no story" for at, text in criteria]
    return plan


def _read_lines(plan: ImportPlan, path: str, text: str) -> Iterator[tuple[int, str]]:
    """The lines outside of fences and comments; the others are noted as left out."""
    last = 0
    for number, line in plain_lines(text):
        for hidden in range(last + 1, number):
            plan.leave_out_line(path, hidden)
        last = number
        yield number, line


def _blocks(plan: ImportPlan, path: str, text: str) -> Iterator[tuple[str, str, Lines]]:
    """(place, heading, lines below it); the subheadings of a story are lines of it."""
    place, heading, below, level = path, "", list[tuple[str, str]](), 0
    for number, line in _read_lines(plan, path, text):
        marks = len(line) - len(line.lstrip("#"))
        if not marks or marks > level > 0:
            below.append((f"{path}:{number}", line))
            continue
        yield place, heading, below
        place, heading, below = f"{path}:{number}", line, []
        level = marks if _STORY_HEADING.fullmatch(line) else 0
    yield place, heading, below


def plain_lines(text: str) -> Iterator[tuple[int, str]]:
    """(number, line) of the lines outside of fences and comments."""
    in_comment = False
    for number, whole in outside_fences(text.split("\n")):
        _, end, line = whole.partition("-->") if in_comment else ("", "-->", whole)
        line, begun, _ = re.sub(r"<!--.*?-->", "", line).partition("<!--")
        is_hidden = (in_comment or line != whole) and not line.strip()
        in_comment = not end or bool(begun)
        if not is_hidden:
            yield number, line.rstrip()


def _take_section(plan: ImportPlan, heading: re.Match[str], place: str, lines: Lines) -> None:
    """Add the story that a heading names."""
    boxes = [(at, box) for at, line in lines if (box := BOX.fullmatch(line))]
    open_ones = [at for at, box in boxes if state_of_box(box) == "open"]
    for at, box in boxes:
        if state_of_box(box) not in ("open", "done"):
            plan.left_out.append(f"{at}: {box[3]}: {why_left_out(box)}")
    about = [line for _, line in lines if not BOX.fullmatch(line) and not line.startswith("#")
             and not _CRITERIA_LABEL.fullmatch(line)]  # fmt: skip
    story_id = heading[1] or f"US-{len(plan.stories) + 1:03}"
    criteria = [box[3] for _, box in boxes if state_of_box(box) in ("open", "done") and box[3]]
    plan.add(story(story_id, heading[2], done=not open_ones, priority=len(plan.stories) + 1,
                   description="\n".join(about).strip(), acceptanceCriteria=criteria), place)  # fmt: skip


def state_of_box(box: re.Match[str]) -> str:
    """`open`, `done` or `gone` for the mark in a checkbox; "" for an unknown one."""
    return state_of(box[2]) if box[2].strip() else "open"


def place_of(place: str) -> tuple[str, int]:
    """(path, line) of `tasks.md:12`."""
    path, _, number = place.rpartition(":")
    return path, int(number)


def why_left_out(box: re.Match[str]) -> str:
    """Why a checkbox is left out."""
    return f"dropped ([{box[2]}])" if state_of_box(box) == "gone" else f"unknown checkbox [{box[2]}]"


def _take_items(plan: ImportPlan, heading: str, lines: Lines) -> None:
    """Add a story for each checkbox; an indented item is its criterion, other indented text continues it."""
    current: Story | None = None
    wraps = False
    for place, line in lines:
        box, item = BOX.fullmatch(line), ITEM.fullmatch(line)
        wraps = bool(item) or (wraps and bool(line))
        if item and item[1]:
            if not current:
                plan.leave_out_line(*place_of(place))
            else:
                current.setdefault("acceptanceCriteria", []).append(box[3] if box else item[3])
        elif box:
            current = _item(plan, box, place, heading if heading != plan.project else "")
        elif item:
            current = None
            plan.left_out.append(f"{place}: {item[3]}: not a checkbox")
        elif current and wraps and line[:1].isspace():
            _continue_story(current, line)
        elif line:
            current = None
            plan.leave_out_line(*place_of(place))


def _item(plan: ImportPlan, box: re.Match[str], place: str, heading: str) -> Story | None:
    text = re.sub(r"^\*\*(.+?)\*\*", r"\1", box[3])
    story_id, title = named(text, len(plan.stories) + 1)
    state = state_of_box(box)
    if state not in ("open", "done") or not title:
        plan.leave_out(story_id if title != text else "", title, why_left_out(box) if title else "no title", place)
        return None
    made = story(story_id, title, done=state == "done", priority=len(plan.stories) + 1, notes=heading)
    plan.add(made, place)
    return made


def _continue_story(raw: Story, line: str) -> None:
    """Append an indented line: an item is a criterion, other text continues the last criterion or the title."""
    if item := ITEM.fullmatch(line):
        raw.setdefault("acceptanceCriteria", []).append(item[3])
    elif listed := raw.get("acceptanceCriteria"):
        listed[-1] += f" {line.strip()}"
    else:
        raw["title"] += f" {line.strip()}"


def is_spec_kit(text: str) -> bool:
    boxes = (BOX.fullmatch(line) for _, line in plain_lines(text))
    return any(box and not box[1] and re.match(r"T\d+[a-z]? ", box[3]) for box in boxes)


def read_spec_kit(files: Files) -> ImportPlan:
    """A story for each task. One without [P] waits for the task before it, one with [P] for the last one without. Both
    wait for the tasks of `(depends on T012, T013)`. Items below a task are its criteria."""
    plan, phase, last, barrier = ImportPlan(), "", "", ""
    current: Story | None = None
    for path, text in files.items():
        for number, line in _read_lines(plan, path, text):
            if line.startswith("#"):
                phase = line.lstrip("# ") if line.startswith("## ") else phase
                plan.project = plan.project or line.lstrip("# ").removeprefix("Tasks:").strip()
            elif current and line[:1].isspace():
                _continue_story(current, line)
            elif line:
                box = BOX.fullmatch(line)
                current, is_parallel = None, False
                if box:
                    current, is_parallel = _spec_kit_task(plan, box, f"{path}:{number}", phase, (last, barrier))
                else:
                    plan.leave_out_line(path, number)
                last = current["id"] if current else last
                barrier = last if current and not is_parallel else barrier
    for raw in plan.stories:
        named_ones = re.findall(r"T\d+[a-z]?", " ".join(_DEPENDS.findall(raw["title"])))
        if after := list(dict.fromkeys([*raw.get("dependsOn", ()), *named_ones])):
            raw["dependsOn"] = after
    return plan


def _spec_kit_task(
    plan: ImportPlan, box: re.Match[str], place: str, phase: str, before: tuple[str, str]
) -> tuple[Story | None, bool]:
    """Add the story of a task: (story, has it a [P]?). `before` is the last task, and the last one without [P]."""
    match = None if box[1] else _SPEC_KIT.fullmatch(re.sub(r"^\*\*(T\d+[a-z]?)\*\*:?", r"\1", box[3]))
    if not match:
        plan.left_out.append(f"{place}: {box[3]}: has no id such as T012")
        return None, False
    if state_of_box(box) not in ("open", "done"):
        plan.leave_out(match[1], match[3], why_left_out(box), place)
        return None, False
    labels = re.findall(r"\[([^\]]+)\]", match[2])
    after = before["P" in labels]
    notes = "; ".join([phase, *(label for label in labels if label != "P")]).strip("; ")
    made = story(match[1], match[3], done=state_of_box(box) == "done", priority=len(plan.stories) + 1,
                 dependsOn=[after] if after else [], notes=notes)  # fmt: skip
    plan.add(made, place)
    return made, "P" in labels


def read_task_files(files: Files) -> ImportPlan:
    """A story for each file: front matter with id, module, priority, status, dependencies; then Markdown."""
    plan = ImportPlan()
    for path, text in sorted(files.items()):
        if parts := split_front_matter(text):
            front, body = parts
            source = yaml_source(front, path, first_line=2)
            _take_task(plan, StoryRow(source.root, source, (), f"{path}:1"), body)
        else:
            plan.left_out.append(f"{path}:1: has no front matter")
    return plan


def _take_task(plan: ImportPlan, row: StoryRow, body: str) -> None:
    matter, (state, word) = row.fields(), row.state()
    given = next((text for name in ("title", "name") if (text := text_of(matter.get(name)))), "")
    stem = row.source.name.rpartition("/")[2].removesuffix(".md")
    story_id = row.id() or (stem if given else "")
    if not story_id:
        raise row.refusal("has no id", hint="id: auth.login")
    plan.leave_out_fields(matter, _MATTER, row.place)
    parts = dict(sections(body))
    lead = parts.pop("", "")
    title = given or next((line.lstrip("# ") for line in lead.splitlines() if line.startswith("# ")), story_id)
    if state == "gone":
        plan.leave_out(story_id, title, word, row.place)
        return
    about = "\n".join(line for line in lead.splitlines() if not line.startswith("# ")).strip()
    criteria = next((body for name, body in parts.items() if "criteria" in name.lower()), "")
    notes = next((body for name, body in parts.items() if name.lower() == "notes"), "")
    others = [f"{name}\n{body}" for name, body in parts.items() if body not in (criteria, notes)]
    made = story(story_id, title, done=state == "done", description="\n\n".join([about, *others]).strip(),
                 priority=row.rank(0) if matter.get("priority") is not None else None,
                 dependsOn=row.ids("dependencies") or row.ids("depends_on"), acceptanceCriteria=list(_items(criteria)),
                 notes=notes)  # fmt: skip
    plan.add({**{name: matter[name] for name in _EXTRA_FIELDS if name in matter}, **made}, row.place)


def _items(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if item := ITEM.fullmatch(line):
            yield item[3]
