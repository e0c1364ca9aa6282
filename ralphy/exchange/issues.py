"""Issues as stories: those of beads, whose `.beads/issues.jsonl` has an object on each line, and those of GitHub."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ralphy.exchange.markdown import BOX, plain_lines
from ralphy.exchange.plan import Files, ImportPlan, sections, story
from ralphy.exchange.source import StoryRow, json_source, text_of
from ralphy.text.markdown import ITEM

_CRITERIA = re.compile(r"criteria|acceptance|done when|expected", re.I)
_DEPENDS = re.compile(r"\b(?:depends on|blocked by|after)\s+((?:#\d{1,9}\b(?:\s*(?:,|and)\s*)?)+)", re.I)
_COMMENT = re.compile(r"<!--.*?-->", re.S)
_NO_WORK = ("epic", "message", "molecule", "merge-request", "agent", "convoy")  # containers, and no work at all
_FIELDS = ("id", "title", "description", "status", "priority", "issue_type", "acceptance_criteria", "design", "notes",
           "dependencies")  # fmt: skip
_BLOCKS = ("blocks", "conditional-blocks", "waits-for")


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue of GitHub."""

    number: int
    title: str
    body: str
    is_closed: bool


def plan_of(issues: Iterable[Issue], slug: str) -> ImportPlan:
    """A story for each issue of a repository, by number; `Blocked by #7` is a dependency."""
    ordered = sorted(issues, key=lambda issue: issue.number)
    plan = ImportPlan(ordered[0].title if len(ordered) == 1 else slug.rpartition("/")[2])
    for priority, issue in enumerate(ordered, 1):
        body = issue.body.replace("\r\n", "\n")
        named = [int(one) for refs in _DEPENDS.findall(body) for one in re.findall(r"\d+", refs)]
        after = [f"GH-{one}" for one in dict.fromkeys(named) if one != issue.number]
        place = f"{slug}#{issue.number}"
        plan.add(story(f"GH-{issue.number}", issue.title, done=issue.is_closed, description=_without_boxes(body),
                       acceptanceCriteria=list(_criteria_in(body)), priority=priority, dependsOn=after,
                       notes=place), place)  # fmt: skip
    plan.drop_unknown_dependencies("which is not among these issues")
    return plan


def read_beads(files: Files) -> ImportPlan:
    """A story for each issue of beads; priorities 0 to 4 become 1 to 5. Raises InvalidInput if an id or title is
    missing."""
    plan = ImportPlan()
    ((name, text),) = files.items()
    lines = text.rstrip().split("\n")
    # Read as one list, so that errors have the lines of the file.
    listed = [f"{line}," if line.strip() and at < len(lines) else line for at, line in enumerate(lines, 1)]
    for row in json_source(f"[{chr(10).join(listed)}]", name).rows(()):
        _take(plan, row)
    plan.drop_unknown_dependencies("which is not in the file")
    return plan


def _take(plan: ImportPlan, row: StoryRow) -> None:
    raw, story_id = row.fields(), row.id()
    title, kind = text_of(raw.get("title")), text_of(raw.get("issue_type"))
    if not story_id or not title:
        raise row.refusal(f"has no {'title' if story_id else 'id'}")
    state, word = row.state()
    if kind in _NO_WORK or state == "gone":
        plan.leave_out(story_id, title, kind if kind in _NO_WORK else word, row.place)
        return
    links = [link for link in row.texts("dependencies") if isinstance(link, dict)]
    after = [text_of(link.get("depends_on_id")) for link in links if link.get("type") in _BLOCKS]
    for link in (link for link in links if link.get("type") not in _BLOCKS):
        plan.left_out.append(f"{row.place}: {story_id} {link.get('type')} {link.get('depends_on_id')}: not an order")
    plan.leave_out_fields(raw, _FIELDS, row.place)
    asked = text_of(raw.get("acceptance_criteria"))
    body = text_of(raw.get("description"))
    plan.add(story(story_id, title, done=state == "done", description=_without_boxes(body), priority=row.rank(2) + 1,
                   acceptanceCriteria=[*(line.strip().lstrip("-*+ ") for line in asked.splitlines() if line.strip()),
                                       *_criteria_in(body)],
                   notes="\n\n".join(text for part in ("design", "notes") if (text := text_of(raw.get(part)))),
                   dependsOn=list(dict.fromkeys(filter(None, after)))), row.place)  # fmt: skip


def _criteria_in(body: str) -> Iterator[str]:
    """The checkboxes of an issue; without any, the list of a section with a heading such as "Acceptance criteria"."""
    boxes = [box[3] for _, line in plain_lines(body) if (box := BOX.fullmatch(line))]
    if boxes:
        yield from boxes
        return
    for heading, text in sections(re.sub(r"^#{3,6} ", "## ", body, flags=re.M)):
        if _CRITERIA.search(heading):
            yield from (item[3] for line in text.splitlines() if (item := ITEM.fullmatch(line.rstrip())))


def _without_boxes(body: str) -> str:
    """The body without comments and checkboxes, which are criteria."""
    return "\n".join(line for line in _COMMENT.sub("", body).split("\n") if not BOX.fullmatch(line)).strip()
