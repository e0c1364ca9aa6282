"""The prompt of a run: a template, the project's own or a built-in one, filled with bounded values.

Three parts are added if a project's template lacks them: the first line that names the run, the outbox with the rules,
and the report. A template that cannot be rendered is replaced by the built-in one, with a warning. Long texts from
outside are clipped and fenced before a template gets them.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ralphy.config.values import Check
from ralphy.documents.criteria import LISTS, items_of, titled_lists
from ralphy.errors import InvalidInput, NotFound
from ralphy.pipeline.steps import names
from ralphy.prompts.budget import FAILURE_BYTES, PROGRESS_BYTES, clip, fence
from ralphy.prompts.language import OWN, generate, own_template, place
from ralphy.resources import template_root

# Texts from outside: name -> (name of the fence, bytes). Those of one built-in template fit into a prompt together.
TEXTS = {
    "prd_content": ("PRD.md", 81920),
    "clarifications": ("CLARIFICATIONS.md", 16384),
    "spec_content": ("SPEC.md", 49152),
    "tasks_content": ("stories", 49152),
    "qa_report": ("QA_REPORT.md", 16384),
    "existing_stories": ("stories", 24576),
    "spec_section": ("SPEC.md", 24576),
    "brief": ("brief", 8192),
    "evidence": ("evidence", 16384),
    "unproved": ("unproved", 4096),
    "feedback": ("feedback", 8192),
    "mistakes": ("mistakes", 4096),
    "progress": ("progress.txt", PROGRESS_BYTES),
    "failure": ("failure", FAILURE_BYTES),
}
# A story's prompt is at most 8 KB beyond the story, its section of the specification and the brief that it names.
STORY_TEXTS = {"feedback": 500, "mistakes": 300, "evidence": 300, "existing_stories": 300}
STORY_BYTES = 49152
# Values of one line: name -> bytes.
WORDS = {
    "project_name": 60,
    "language": 40,
    "test_command": 160,
    "branch_name": 120,
    "resume_instruction": 300,
    "base": 120,
    "acceptance": 20,
    "granularity": 20,
    "feature": 100,
    "feature_dir": 400,
    "nonce": 64,
    "reviewed_commit": 64,
}
CHECKS_BYTES = 280

_STEP = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_LINE_BREAKS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


@dataclass(frozen=True, slots=True)
class Rendered:
    """`template` is the file of the text; `warnings` name templates that were not used, and why."""

    text: str
    template: str
    warnings: tuple[str, ...] = ()


class _Template(NamedTuple):
    """A template to try: its file, its name, and the folders that it may include from."""

    path: Path
    name: str
    folders: tuple[Path, ...]


def render(step: str, values: Mapping[str, object], folders: Sequence[Path], *, share: float = 1.0) -> Rendered:
    """The prompt of a step.

    `values` must hold `feature` and `outbox` (absolute); the other names are those of TEXTS and WORDS, and
    `story` (as in prd.json), `attempt`, `heal`, `keep_spec`, `scope_is_frozen`, `checks`, `max_rounds`, `most_pieces`,
    `most_questions`.
    Absent values are "". `share` is the part of their usual room that the long texts get. `folders` may hold the
    project's own templates; the first one wins. Raises NotFound if a step has no template, InvalidInput if its only
    template cannot be used.
    """
    if not _STEP.fullmatch(step):
        raise InvalidInput(f"{step!r} is not a step's name", hint="use lower-case letters, digits, - and _")
    context = _context(step, values, share)
    warnings: list[str] = []
    for candidate in _candidates(step, tuple(folders)):
        try:
            text, lacks_report = _fill(candidate, context)
        except Exception as error:  # a template of the project's own can fail in any way
            warnings.append(_why_unused(error, candidate))
        else:
            if lacks_report:
                warnings.append(f"{candidate.path}: EXIT_SIGNAL is missing; using the built-in report")
            return Rendered(text, str(candidate.path), tuple(warnings))
    if warnings:
        raise InvalidInput(f"the prompt of step {step} is unusable", where=warnings[0])
    raise NotFound(f"step {step} has no prompt", hint=f"write .ralphy/prompts/{step}.md.j2")


def own_prompts(folder: Path) -> dict[Path, str]:
    """The project's own templates in a folder, each with its step."""
    package = _package()
    steps = (built_in.name.removesuffix(".md.j2") for built_in in sorted(package.glob("[a-z]*.md.j2")))
    return {own: step for step in steps if (own := own_template(step, (folder,)))}


def doubts(path: Path, step: str) -> tuple[str, ...]:
    """Problems of the project's own template, and what a run uses instead."""
    values = {"feature": "feature", "outbox": str(path.parent), "story": {"id": "US-001", "title": "a story"}}
    return render(step, values, [path.parent]).warnings


def _candidates(step: str, folders: tuple[Path, ...]) -> Iterator[_Template]:
    """The project's own template, then the built-in one, at last the built-in one without the project's partials."""
    package = _package()
    built_in = package / f"{step}.md.j2"
    own = own_template(step, folders)
    if own:
        yield _Template(own, f"{OWN}{step}", folders)
    if built_in.is_file():
        if folders and not own:
            yield _Template(built_in, built_in.name, folders)
        yield _Template(built_in, built_in.name, ())


def _package() -> Path:
    return template_root() / "prompts"


def _fill(candidate: _Template, context: Mapping[str, Any]) -> tuple[str, bool]:
    """(prompt, does the template lack the report?); the prompt has the first line and the parts that it lacks."""

    def text(name: str) -> str:
        return generate(name, context, candidate.folders, _package())

    parts = [_first_line(context), text(candidate.name).strip("\n")]
    if context["outbox"] not in parts[1]:
        parts.append(text("_rules.md.j2"))
    lacks_report = not _has_word(parts[1], "EXIT_SIGNAL", context)
    if lacks_report:
        parts.append(text("_report.md.j2"))
    return "\n\n".join(part.strip("\n") for part in parts) + "\n", lacks_report


def _first_line(context: Mapping[str, Any]) -> str:
    names = {
        "step": context["step"],
        "feature": context["feature"],
        "story": context["story"]["id"],
        "attempt": context["attempt"],
        "outbox": context["outbox"],
    }
    pairs = " ".join(f"{name}={_quoted(str(value))}" for name, value in names.items() if value != "")
    return f"<!-- ralphy {pairs} -->"


def _quoted(value: str) -> str:
    return f'"{value}"' if re.search(r"\s", value) else value


def _has_word(text: str, word: str, context: Mapping[str, Any]) -> bool:
    """Does the template itself contain the word? Its occurrences in values do not count."""
    for value in sorted(_strings(context), key=len, reverse=True):
        if word in value:
            text = text.replace(value, "")
    return word in text


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _strings(list(value.values()))
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _why_unused(error: Exception, candidate: _Template) -> str:
    what = getattr(error, "what", None) or getattr(error, "message", None) or str(error) or type(error).__name__
    return f"{place(error, str(candidate.path))}: {what}; using the built-in prompt"


def _context(step: str, values: Mapping[str, object], share: float) -> dict[str, Any]:
    """The value of every name that a template may use: bounded, and texts from outside in fences."""
    context: dict[str, Any] = {name: _word(values.get(name), size) for name, size in WORDS.items()}
    nonce = context["nonce"] = context["nonce"] or secrets.token_hex(8)
    for name, (label, size) in TEXTS.items():
        size = STORY_TEXTS.get(name, size) if step == names.STORY else size
        context[name] = fence(label, clip(_text(values.get(name)).strip("\n"), int(size * share)), nonce)
    given = values.get("story")
    raw: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    story = _story(raw)
    return context | {
        "step": step,
        "outbox": _LINE_BREAKS.sub(" ", str(values["outbox"])),
        "attempt": values.get("attempt", 1),
        "heal": bool(values.get("heal")),
        "keep_spec": bool(values.get("keep_spec")),
        "scope_is_frozen": bool(values.get("scope_is_frozen")),
        "max_rounds": values.get("max_rounds", 5),
        "most_pieces": values.get("most_pieces", 4),
        "most_questions": values.get("most_questions", 5),
        "checks": clip("\n".join(_checks(values.get("checks"))), CHECKS_BYTES),
        "story": story,
        "story_text": fence(story["id"] or "story", clip(_story_text(story, raw), int(STORY_BYTES * share)), nonce),
    }


def _word(value: object, max_bytes: int) -> str:
    """The start of a value, on one line."""
    start = "" if value is None else str(value).lstrip()[:max_bytes]
    line = _LINE_BREAKS.sub(" ", start).rstrip()
    return line.encode("utf-8", "replace")[:max_bytes].decode("utf-8", "ignore")


def _text(value: object) -> str:
    """A text as it is; a list as Markdown, with a line for each story or item."""
    if value is None or isinstance(value, str):
        return value or ""
    items = value if isinstance(value, Iterable) and not isinstance(value, Mapping) else [value]
    return "\n".join(f"- {_line(item)}" for item in items)


def _line(item: object) -> str:
    """A story on one line; any other item as it is."""
    if not isinstance(item, Mapping):
        return str(item)
    return f"{item.get('id', '')} {item.get('title', '')} ({item.get('status', 'pending')})"


def _checks(checks: object) -> Iterator[str]:
    for check in checks if isinstance(checks, Sequence) else ():
        yield f"- {check.name}: `{check.run}`" if isinstance(check, Check) else f"- {check}"


def _story(given: Mapping[str, Any]) -> dict[str, Any]:
    """The story with every field that a template may use; lists hold texts."""
    testing = given.get("testing")
    named = testing if isinstance(testing, Mapping) else {}
    story: dict[str, Any] = {name: [str(item) for item in items_of(given, name)] for name in LISTS}
    story["dependsOn"] = [str(other) for other in given.get("dependsOn") or ()]
    story |= {field: [str(test) for test in named.get(field) or ()] for field in ("removes", "changes")}
    story |= {name: _word(given.get(name), 400) for name in ("id", "title", "kind", "priority")}
    story |= {name: _text(given.get(name)) for name in ("description", "notes")}
    return story


def _story_text(story: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """The story as text, for its implementer."""
    parts = [f"{story['id']}: {story['title']}", story["description"]]
    for title, items in titled_lists(given):
        parts.append(f"{title}:\n" + "\n".join(item.bullet() for item in items))
    parts.append(f"Notes: {story['notes']}" if story["notes"] else "")
    for field, does in (("removes", "remove"), ("changes", "change the expectations of")):
        parts.append(f"Tests that this story may {does}:\n{_text(story[field])}" if story[field] else "")
    return "\n\n".join(part for part in parts if part)
