"""Stories in JSON and YAML: prd.json of other loops, task-master's tasks.json, and lists of tasks."""

from __future__ import annotations

import json
from typing import Any

from ralphy.errors import InvalidInput
from ralphy.exchange.plan import Files, Plan, Story, is_completed, is_done, named, numbers_of, story, words

_RANKS = {"critical": 1, "high": 1, "medium": 2, "low": 3}
_NOT_TAKEN = ("cancelled", "canceled", "deferred")


def only_text(files: Files) -> tuple[str, str]:
    """(name, text) of the one file that such a format has."""
    return next(iter(files.items()))


def parsed(files: Files) -> Any:
    """The value of a JSON file. Raises InvalidInput with its line."""
    name, text = only_text(files)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"is not JSON: {error}", where=name) from None


def read_prd(files: Files) -> Plan:
    """prd.json of snarktank/ralph, ralph-tui and iannuttall, and Ralphy's own."""
    root = parsed(files)
    stories = [_told(raw, number) for number, raw in enumerate(_rows(root, ("userStories", "stories")), 1)]
    more = {name: root[name] for name in ("description", "branchName") if isinstance(root.get(name), str)}
    return Plan(str(root.get("project") or root.get("name") or ""), stories, more=more)


def write_prd(plan: Plan) -> dict[str, str]:
    """What those tools know: `passes` says whether a story is done, `name` and `project` are the same."""
    rows = [{"id": raw["id"], "title": raw["title"], "description": str(raw.get("description") or raw["title"]),
             "acceptanceCriteria": words(raw.get("acceptanceCriteria") or ()), "priority": raw.get("priority", number),
             "passes": is_completed(raw), "notes": str(raw.get("notes") or ""),
             "dependsOn": raw.get("dependsOn") or []} for number, raw in enumerate(plan.stories, 1)]  # fmt: skip
    root = {"name": plan.project, "project": plan.project, **plan.more, "userStories": rows}
    return {"prd.json": json.dumps(root, indent=2, ensure_ascii=False) + "\n"}


def read_yaml(files: Files) -> Plan:
    """`tasks:` with texts, or objects with title and completed; `stories` and `userStories` are the same."""
    import yaml

    name, text = only_text(files)
    try:
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
            raise InvalidInput("has an alias", where=name, hint="write the values out")
        root = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InvalidInput(f"is not YAML: {str(error).splitlines()[0]}", where=name) from None
    rows = root if isinstance(root, list) else _rows(root, ("tasks", "stories", "userStories"))
    project = str(root.get("project") or root.get("name") or "") if isinstance(root, dict) else ""
    return Plan(project, [_told(raw, number) for number, raw in enumerate(rows, 1)])


def write_yaml(plan: Plan) -> dict[str, str]:
    import yaml

    rows = [{name: raw[name] for name in ("id", "title", "description", "acceptanceCriteria", "priority", "dependsOn",
             "notes") if raw.get(name)} | {"completed": is_completed(raw)} for raw in plan.stories]  # fmt: skip
    root = {"project": plan.project, "tasks": rows}
    return {"tasks.yaml": yaml.safe_dump(root, sort_keys=False, allow_unicode=True, width=100)}


def _rows(root: Any, names: tuple[str, ...]) -> list[Any]:
    found = next((root[name] for name in names if isinstance(root.get(name), list)), None) if _is_dict(root) else None
    if not found:
        raise InvalidInput(f"has no {' or '.join(names)} with a list of stories")
    return list(found)


def _is_dict(value: object) -> bool:
    return isinstance(value, dict)


def _told(raw: Any, number: int) -> Story:
    """A story from an object or a sentence; what prd.json has no field for is kept."""
    if not isinstance(raw, dict):
        story_id, title = named(str(raw), number)
        return story(story_id, title, priority=number)
    story_id, title = named(str(raw.get("title") or raw.get("name") or raw.get("description") or ""), number)
    done = raw.get("passes") is True or is_done(raw.get("status")) or is_done(raw.get("completed"))
    drop = ("id", "title", "name", "passes", "status", "completed", "execution", "evidence", "dependencies", "priority")
    kept = {key: value for key, value in raw.items() if key not in drop}
    rank = raw.get("priority")
    priority = rank if isinstance(rank, int) else _RANKS.get(str(rank).lower(), number)
    after = [str(one) for one in raw.get("dependsOn") or raw.get("dependencies") or ()]
    kept |= {"dependsOn": after} if after else {}
    return story(str(raw.get("id") or story_id), title, done=done, priority=priority, **kept)


def is_taskmaster(root: Any) -> bool:
    return _is_dict(root) and (isinstance(root.get("tasks"), list) or any(
        _is_dict(tag) and isinstance(tag.get("tasks"), list) for tag in root.values()))  # fmt: skip


def read_taskmaster(files: Files) -> Plan:
    """task-master's tasks.json, with tags (the first one that has tasks) or without; subtasks become tasks."""
    root = parsed(files)
    tagged: Any = (
        next((tag for tag in root.values() if _is_dict(tag) and tag.get("tasks")), {}) if _is_dict(root) else {}
    )
    rows = _rows(root if isinstance(root.get("tasks"), list) else tagged, ("tasks",))
    plan = Plan(str((root.get("meta") or {}).get("projectName") or ""))
    gone = {str(raw.get("id")) for raw in rows if str(raw.get("status")).lower() in _NOT_TAKEN}
    for raw in rows:
        if str(raw.get("id")) in gone:
            plan.left_out.append(f"{raw.get('id')} {raw.get('title')}: {raw.get('status')}")
            continue
        tasks = [{"description": f"{sub.get('title')}: {sub.get('description') or ''}".rstrip(": "),
                  "done": is_done(sub.get("status"))} for sub in raw.get("subtasks") or ()]  # fmt: skip
        plan.stories.append(story(
            str(raw["id"]), str(raw.get("title")), done=is_done(raw.get("status")), tasks=tasks,
            description=raw.get("description"), notes=raw.get("details"),
            acceptanceCriteria=[raw["testStrategy"]] if raw.get("testStrategy") else [],
            priority=_RANKS.get(str(raw.get("priority")).lower(), 2),
            dependsOn=[str(one) for one in raw.get("dependencies") or () if str(one) not in gone],
        ))  # fmt: skip
    return plan


def write_taskmaster(plan: Plan) -> dict[str, str]:
    numbers = numbers_of(plan.stories)
    lowest = sorted({raw.get("priority", 2) for raw in plan.stories})
    tasks = [{
        "id": numbers[str(raw["id"])], "title": raw["title"],
        "description": str(raw.get("description") or raw["title"]),
        "details": str(raw.get("notes") or ""), "testStrategy": "\n".join(words(raw.get("acceptanceCriteria") or ())),
        "status": "done" if is_completed(raw) else "pending",
        "dependencies": [numbers[one] for one in raw.get("dependsOn") or ()],
        "priority": ("high", "medium", "low")[min(2, lowest.index(raw.get("priority", 2)))],
        "subtasks": [{"id": n, "title": text, "description": "", "status": "pending", "dependencies": []}
                     for n, text in enumerate(words(raw.get("tasks") or ()), 1)],
    } for raw in plan.stories]  # fmt: skip
    root = {"master": {"tasks": tasks, "metadata": {"description": plan.project}}}
    return {"tasks.json": json.dumps(root, indent=2, ensure_ascii=False) + "\n"}
