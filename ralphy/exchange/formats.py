"""The formats that `ralphy import` reads: a row each."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from ralphy.errors import InvalidInput
from ralphy.exchange import issues, markdown, openspec, structured
from ralphy.exchange.plan import Files, ImportPlan


@dataclass(frozen=True, slots=True)
class Format:
    """A format's name for people, and its reader."""

    label: str
    read: Callable[[Files], ImportPlan]


FORMATS: dict[str, Format] = {
    "prd": Format("prd.json of snarktank/ralph, ralph-tui and others", structured.read_prd),
    "taskmaster": Format("tasks.json of task-master", structured.read_taskmaster),
    "speckit": Format("tasks.md of spec-kit", markdown.read_spec_kit),
    "openspec": Format("a change of OpenSpec", openspec.read_openspec),
    "checklist": Format("a Markdown list of - [ ] items", markdown.read_checklist),
    "yaml": Format("a YAML list of tasks", structured.read_yaml),
    "beads": Format("the issues of beads", issues.read_beads),
    "tasks": Format("a folder with a Markdown file for each task", markdown.read_task_files),
}  # fmt: skip

_BY_SUFFIX = {"yaml": "yaml", "yml": "yaml", "jsonl": "beads"}


def read(files: Files, where: str, name: str = "", tag: str = "") -> tuple[str, ImportPlan]:
    """(format, plan) of files in the named format, by default the one that they look like; `tag` is task-master's.

    Raises InvalidInput.
    """
    files = {path: text.replace("\r\n", "\n") for path, text in files.items()}
    kind = name or format_of(files, where)
    if tag and kind != "taskmaster":
        raise InvalidInput("--tag is for the tasks.json of task-master", where=where)
    own = (kind == "speckit" and _spec_kit(files)) or files
    plan = structured.read_taskmaster(own, tag) if tag else FORMATS[kind].read(own)
    plan.drop_left_out_dependencies()
    plan.list_left_out()
    plan.left_out += [f"{path}: not read" for path in files if path not in own]
    if not plan.stories:
        raise InvalidInput(f"no stories found ({FORMATS[kind].label})", where=where,
                           hint=f"--format {', '.join(FORMATS)}")  # fmt: skip
    return kind, plan


def format_of(files: Files, where: str) -> str:
    """The format that files look like. Raises InvalidInput if there is none."""
    if openspec.is_openspec(files):
        return "openspec"
    if _spec_kit(files):
        return "speckit"
    if len(files) != 1 or any(text.startswith("---\n") for path, text in files.items() if path.endswith(".md")):
        return "tasks"
    path, text = structured.only_text(files)
    suffix = path.rpartition(".")[2].lower()
    if suffix == "json":
        return _json_format(text)
    if suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix]
    if suffix in ("md", "markdown", "txt"):
        return "checklist"
    raise InvalidInput("the format is not known", where=where, hint=f"--format {', '.join(FORMATS)}")


def _spec_kit(files: Files) -> Files:
    """The tasks.md of spec-kit, alone or in the folder of a specification; {} if there is none. It may have front
    matter."""
    path = "tasks.md" if "tasks.md" in files else next(iter(files)) if len(files) == 1 else ""
    is_markdown = path.endswith((".md", ".markdown", ".txt"))
    return {path: files[path]} if is_markdown and markdown.is_spec_kit(files[path]) else {}


def _json_format(text: str) -> str:
    try:
        root = json.loads(text)
    except (ValueError, RecursionError):
        return "prd"  # whose reader names the mistake
    is_prd = isinstance(root, dict) and "userStories" in root
    return "taskmaster" if not is_prd and structured.is_taskmaster(root) else "prd"
