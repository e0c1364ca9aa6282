"""Stories in Markdown: checklists, spec-kit's tasks.md, and a file with front matter for each task."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ralphy.errors import InvalidInput
from ralphy.exchange.plan import ITEM, Files, Plan, Story, is_completed, is_done, named, sections, story, words

_SPEC_KIT = re.compile(r"- \[([ xX])\] (T\d+)((?: \[[^\]\n]+\])*) +(\S.*)")
_FRONT = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|$)", re.S)
_KEPT = ("module", "estimatedMinutes")


def read_checklist(files: Files) -> Plan:
    """Each `- [ ]` item is a story, what is indented below it are its criteria; headings say where it comes from."""
    plan, heading = Plan(), ""
    for text in files.values():
        for line in text.splitlines():
            if line.startswith("#"):
                heading = line.lstrip("#").strip()
                plan.project = plan.project or heading
            elif (item := ITEM.fullmatch(line)) and item[2] and not item[1]:
                story_id, title = named(item[3], len(plan.stories) + 1)
                plan.stories.append(story(story_id, title, done=item[2] in "xX", priority=len(plan.stories) + 1,
                                          notes=heading if heading != plan.project else ""))  # fmt: skip
            elif item and item[1] and plan.stories:
                plan.stories[-1].setdefault("acceptanceCriteria", []).append(item[3])
    return plan


def write_checklist(plan: Plan) -> dict[str, str]:
    lines = [f"# {plan.project or 'Tasks'}", ""]
    for raw in plan.stories:
        lines.append(f"- [{'x' if is_completed(raw) else ' '}] {raw['id']} {raw['title']}")
        lines += [f"  - {text}" for text in words(raw.get("acceptanceCriteria") or ())]
    return {"TODO.md": "\n".join(lines) + "\n"}


def is_spec_kit(text: str) -> bool:
    return any(_SPEC_KIT.fullmatch(line) for line in text.splitlines())


def read_spec_kit(files: Files) -> Plan:
    """A task is a story; one without [P] waits for the one before it, one with [P] for the last one without."""
    plan, phase, last, barrier = Plan(), "", "", ""
    for line in (line for text in files.values() for line in text.splitlines()):
        if line.startswith("# "):
            plan.project = plan.project or line.lstrip("# ").removeprefix("Tasks:").strip()
        elif line.startswith("## "):
            phase = line.lstrip("# ").strip()
        elif found := _SPEC_KIT.fullmatch(line.rstrip()):
            labels = re.findall(r"\[([^\]]+)\]", found[3])
            after = barrier if "P" in labels else last
            notes = "; ".join([phase, *(label for label in labels if label != "P")]).strip("; ")
            plan.stories.append(story(found[2], found[4], done=found[1] in "xX", priority=len(plan.stories) + 1,
                                      dependsOn=[after] if after else [], notes=notes))  # fmt: skip
            last = found[2]
            barrier = barrier if "P" in labels else last
    return plan


def write_spec_kit(plan: Plan) -> dict[str, str]:
    """The tasks in their order; those that wait for the same one as the one before them can be done in parallel."""
    lines, barrier = [f"# Tasks: {plan.project}".rstrip(": "), ""], ""
    for number, raw in enumerate(plan.stories, 1):
        own = str(raw["id"])
        task = own if re.fullmatch(r"T\d+", own) else f"T{number:03}"
        after = raw.get("dependsOn") or []
        is_parallel = number > 1 and set(after) == {barrier}
        said = raw["title"] if task == own else f"{own} {raw['title']}"
        lines.append(f"- [{'x' if is_completed(raw) else ' '}] {task} {'[P] ' if is_parallel else ''}{said}")
        barrier = barrier if is_parallel else own
    return {"tasks.md": "\n".join(lines) + "\n"}


def read_task_files(files: Files) -> Plan:
    """A file for each task: front matter with id, module, priority, status, dependencies; then Markdown."""
    plan = Plan()
    for path, text in sorted(files.items()):
        front = _FRONT.match(text)
        if front:
            plan.stories.append(_task(_matter(front[1], path), text[front.end() :], path))
    return plan


def _matter(text: str, path: str) -> dict[str, Any]:
    import yaml

    try:
        if re.search(r"(^|[\s\[{,:-])[&*]\w", text):
            raise InvalidInput("front matter has an anchor or an alias", where=path, hint="write the values out")
        found = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InvalidInput("front matter is not YAML", where=path, hint=str(error).splitlines()[0]) from None
    if not isinstance(found, dict) or not str(found.get("id") or ""):
        raise InvalidInput("front matter has no id", where=path, hint="id: auth.login")
    return found


def _task(matter: dict[str, Any], body: str, path: str) -> Story:
    parts = dict(sections(body))
    lead = parts.pop("", "")
    title = next((line.lstrip("# ") for line in lead.splitlines() if line.startswith("# ")), str(matter["id"]))
    about = "\n".join(line for line in lead.splitlines() if not line.startswith("# ")).strip()
    criteria = next((body for name, body in parts.items() if "criteria" in name.lower()), "")
    notes = next((body for name, body in parts.items() if name.lower() == "notes"), "")
    others = [f"{name}\n{body}" for name, body in parts.items() if body not in (criteria, notes)]
    after = matter.get("dependencies") or []
    if not isinstance(after, list):
        raise InvalidInput("dependencies must be a list", where=path)
    found = story(str(matter["id"]), title, done=is_done(matter.get("status")),
                  description="\n\n".join([about, *others]).strip(), priority=matter.get("priority"),
                  dependsOn=[str(one) for one in after], acceptanceCriteria=list(_items(criteria)),
                  notes=notes)  # fmt: skip
    return {**{name: matter[name] for name in _KEPT if name in matter}, **found}


def _items(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if item := ITEM.fullmatch(line):
            yield item[3]


def write_task_files(plan: Plan) -> dict[str, str]:
    return {f"{_module(raw)}/{raw['id']}.md": _task_text(raw) for raw in plan.stories}


def _module(raw: Story) -> str:
    said = str(raw.get("module") or str(raw["id"]).rpartition(".")[0] or "tasks")
    return re.sub(r"[^\w-]+", "-", said).strip("-") or "tasks"


def _task_text(raw: Story) -> str:
    import yaml

    status = "completed" if is_completed(raw) else str(raw.get("status") or "pending")
    matter = {"id": raw["id"], "module": _module(raw), "priority": raw.get("priority", 1), "status": status,
              **({"estimatedMinutes": raw["estimatedMinutes"]} if "estimatedMinutes" in raw else {}),
              "dependencies": raw.get("dependsOn") or []}  # fmt: skip
    criteria = [f"{n}. {text}" for n, text in enumerate(words(raw.get("acceptanceCriteria") or ()), 1)]
    parts = [f"---\n{yaml.safe_dump(matter, sort_keys=False, allow_unicode=True)}---", f"# {raw['title']}",
             str(raw.get("description") or ""), "\n".join(["## Acceptance Criteria", *criteria]) if criteria else "",
             f"## Notes\n{raw['notes']}" if raw.get("notes") else ""]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"
