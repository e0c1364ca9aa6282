"""Stories in JSON and YAML: prd.json of other loops, lists of features or tasks, task-master's tasks.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ralphy.documents.criteria import items_of
from ralphy.exchange.plan import Files, ImportPlan, Story, named, story
from ralphy.exchange.source import FINISHED, Source, StoryRow, json_source, text_of, yaml_source
from ralphy.text.strict_json import preview

_LISTS = ("userStories", "stories", "features", "tasks")
_TITLES = ("title", "name", "description")
_CRITERIA = ("acceptanceCriteria", "acceptance_criteria", "acceptance", "criteria", "steps")
_AFTER = ("dependsOn", "dependencies", "depends_on")
# Fields that are read, or that only the other tool uses; all others are copied.
_READ = frozenset((*_CRITERIA, *_AFTER, *FINISHED, "id", "story_id", "title", "name", "priority", "started",
                   "execution", "evidence"))  # fmt: skip
_TASK = ("id", "title", "description", "details", "testStrategy", "status", "dependencies", "priority", "subtasks")
_SUBTASK = ("id", "title", "description", "status", "parentTaskId")
_JOBS = ("schedule", "cron", "prompt", "command", "run")  # fields of scheduled jobs, which are called tasks, too
_A_STORYS = ("title", "description", *_CRITERIA, *_AFTER, *FINISHED)


def only_text(files: Files) -> tuple[str, str]:
    """(name, text) of the one file of such a format."""
    return next(iter(files.items()))


def read_prd(files: Files) -> ImportPlan:
    """prd.json of snarktank/ralph, ralph-tui, iannuttall and Ralphy, lists of features, and bare lists of stories."""
    name, text = only_text(files)
    return _plan(json_source(text, name), _LISTS)


def prd_of(plan: ImportPlan) -> str:
    """The prd.json of a plan for those tools: `passes` says whether a story is done, `name` repeats `project`."""
    rows = [_row(raw, number) for number, raw in enumerate(plan.stories, 1)]
    root = {"name": plan.project, "project": plan.project, **plan.more, "userStories": rows}
    return json.dumps(root, indent=2, ensure_ascii=False) + "\n"


def _row(raw: Story, number: int) -> dict[str, Any]:
    return {
        "id": raw["id"],
        "title": raw["title"],
        "description": str(raw.get("description") or raw["title"]),
        "acceptanceCriteria": [text for item in items_of(raw, "acceptanceCriteria") if (text := item.text)],
        "priority": raw.get("priority", number),
        "passes": raw.get("passes") is True or raw.get("status") == "completed",
        "notes": str(raw.get("notes") or ""),
        "dependsOn": raw.get("dependsOn") or [],
    }


def read_yaml(files: Files) -> ImportPlan:
    """A YAML list, by itself or in `tasks:` and its like, of texts or of objects with title and completed."""
    name, text = only_text(files)
    return _plan(yaml_source(text, name), ("tasks", *_LISTS))


def _plan(source: Source, names: tuple[str, ...]) -> ImportPlan:
    root: Mapping[str, Any] = source.root if isinstance(source.root, dict) else {}
    project = next((text for name in ("project", "name") if (text := text_of(root.get(name)))), "")
    more = {name: root[name] for name in ("description", "branchName") if isinstance(root.get(name), str)}
    plan = ImportPlan(project, more=more)
    plan.leave_out_fields(root, ("project", "name", "$schema", "description", "branchName", *names), source.name)
    for number, row in enumerate(source.rows(names), 1):
        _take(plan, row, number)
    return plan


def _take(plan: ImportPlan, row: StoryRow, number: int) -> None:
    """Add the story of an object or a sentence; fields that prd.json does not know are copied."""
    if not isinstance(row.raw, dict):
        if not text_of(row.raw):
            raise row.refusal(f"is {preview(row.raw)} but must be a text or an object")
        story_id, title = named(text_of(row.raw), number)
        plan.add(story(story_id, title, priority=number), row.place)
        return
    raw = row.fields()
    if any(name in raw for name in _JOBS) and not any(name in raw for name in _A_STORYS):
        name = next(name for name in _JOBS if name in raw)
        raise row.refusal(f"has {name}: it is a scheduled job or a prompt, not a story")
    given = next((name for name in _TITLES if text_of(raw.get(name))), "")
    if not given:
        raise row.refusal("has no title")
    story_id, title = named(text_of(raw[given]), number)
    if own := row.id():
        story_id, title = own, title if own == story_id else text_of(raw[given])
    state, word = row.state()
    if state == "gone":
        plan.leave_out(story_id, title, word, row.place)
        return
    criteria = next((listed for name in _CRITERIA if (listed := row.texts(name))), [])
    after = next((ids for name in _AFTER if (ids := row.ids(name))), [])
    extra = {name: value for name, value in raw.items() if name not in _READ}
    plan.add(story(story_id, title, done=state == "done", priority=row.rank(number), acceptanceCriteria=criteria,
                   dependsOn=after, **extra), row.place)  # fmt: skip


def is_taskmaster(root: Any) -> bool:
    """Are there tasks, at the root or in a tag?"""
    return isinstance(root, dict) and any(isinstance(tag.get("tasks"), list) for tag in _tags(root).values())


def _tags(root: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The objects that may have tasks: the root as "", else each tag by its name."""
    if isinstance(root.get("tasks"), list):
        return {"": root}
    return {name: tag for name, tag in root.items() if isinstance(tag, dict)}


def read_taskmaster(files: Files, tag: str = "") -> ImportPlan:
    """The tasks.json of task-master: the given `tag`, by default the first one with tasks. Subtasks become tasks."""
    name, text = only_text(files)
    source = json_source(text, name)
    root: Mapping[str, Any] = source.root if isinstance(source.root, dict) else {}
    tags = [name for name, inner in _tags(root).items() if inner.get("tasks")] or [""]
    if tag and tag not in tags:
        raise source.refusal((), f"has no tag {tag} with tasks", hint=f"--tag {', '.join(filter(None, tags))}")
    first = tag or tags[0]
    meta = root.get("meta")
    plan = ImportPlan(text_of(meta.get("projectName")) if isinstance(meta, dict) else "")
    rows = list(source.rows(("tasks",), (first,) if first else ()))
    for row in rows:
        if not row.id():
            raise row.refusal("has no id")
    known = {row.id() for row in rows}
    for row in rows:
        _take_task(plan, row, known)
    for other in (name for name in tags if name != first):
        for row in source.rows(("tasks",), (other,)):
            plan.left_out.append(f"{row.place}: {text_of(row.fields().get('title'))}: has another tag (--tag {other})")
    return plan


def _take_task(plan: ImportPlan, row: StoryRow, known: set[str]) -> None:
    """Add the story of a task of task-master. A dependency on a subtask becomes one on its task."""
    raw, (state, word) = row.fields(), row.state()
    title = text_of(raw.get("title"))
    if not title:
        raise row.refusal("has no title")
    if state == "gone":
        plan.leave_out(row.id(), title, word, row.place)
        return
    tasks = [_subtask(plan, StoryRow(sub, row.source, (*row.path, "subtasks", n), row.place))
             for n, sub in enumerate(row.texts("subtasks"))]  # fmt: skip
    asked = row.ids("dependencies")
    after = [one if one in known else one.partition(".")[0] for one in asked]
    for one, task in zip(asked, after, strict=True):
        if one != task:
            plan.left_out.append(f"{row.place}: {row.id()} depends on the subtask {one}: made a dependency on {task}")
    plan.leave_out_fields(raw, _TASK, row.place)
    plan.add(story(row.id(), title, done=state == "done", tasks=tasks, description=raw.get("description"),
                   notes=raw.get("details"), acceptanceCriteria=row.texts("testStrategy"), priority=row.rank(2),
                   dependsOn=list(dict.fromkeys(after))), row.place)  # fmt: skip


def _subtask(plan: ImportPlan, row: StoryRow) -> dict[str, Any]:
    if text_of(row.raw):
        return {"description": text_of(row.raw), "done": False}
    raw = row.fields()
    own = {f"subtasks.{name}": value for name, value in raw.items() if name not in _SUBTASK}
    plan.leave_out_fields(own, (), row.place)
    texts = [text for name in ("title", "description") if (text := text_of(raw.get(name)))]
    state, word = row.state()
    return {"description": ": ".join([*texts, *([word] if state == "gone" else [])]), "done": state != "open"}
