"""import: stories from other tools. export: prd.json as other tools read it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from ralphy.cli.options import Invocation, feature_argument, with_options
from ralphy.documents.prd_reader import MOST_SHOWN, prd_problems
from ralphy.documents.prd_rules import rendered
from ralphy.errors import Conflict, InvalidInput, NotFound
from ralphy.exchange.formats import FORMATS, read
from ralphy.exchange.issues import plan_of
from ralphy.exchange.plan import ImportPlan
from ralphy.exchange.structured import prd_of
from ralphy.files.read import read_input
from ralphy.files.tree_walk import walk
from ralphy.forge.issues import IssueSource, read_issues, source_of
from ralphy.scaffold.writer import new_feature, slug
from ralphy.text.counted import counted

_FORMATS = click.Choice(list(FORMATS))
_MOST_BYTES, _MOST_FILES = 4 * 1024 * 1024, 2000


@click.command("import")
@click.argument("source", type=click.Path(), metavar="FILE|DIR|github:OWNER/REPO[#N]")
@click.option("--label", default="", metavar="NAME", help="Only the issues of github:OWNER/REPO with this label.")
@click.option("--tag", default="", metavar="NAME", help="The tasks of task-master with this tag; default: the first.")
@click.option("--name", metavar="FEATURE", help="Name of the feature; default: from the project or the file.")
@click.option("--format", "kind", type=_FORMATS, help="The format; default: what it looks like.")
@click.option("--dry-run", "-n", is_flag=True, help="Show the stories; write nothing.")
@with_options
def import_(
    call: Invocation, source: str, label: str, tag: str, name: str | None, kind: str | None, dry_run: bool
) -> int:  # fmt: skip
    """Its prd.json is checked as any other. Formats: prd.json of snarktank/ralph and ralph-tui, task-master's
    tasks.json, spec-kit's tasks.md, a change of OpenSpec, lists of - [ ] items, YAML, the issues.jsonl of beads, and
    folders with a Markdown file for each task. Stories that are done there stay done. Open issues of GitHub, or one by
    its number, are read through gh.
    """
    path = call.directory / source
    issues = source_of(source)
    if label and (issues is None or issues.number):
        raise InvalidInput("--label is for the issues of a repository", hint="github:OWNER/REPO --label NAME")
    format_name, plan = ("github", _of_issues(issues, label)) if issues else read(_files(path), source, kind or "", tag)
    text = json.dumps(plan.document(), indent=2, ensure_ascii=False) + "\n"
    _require_valid(plan, source)
    features = call.repository().root / call.settings().config.project.features_dir
    feature = name or slug(plan.project or path.resolve().stem)
    if (features / feature / "prd.json").exists():
        raise Conflict("the feature has a prd.json already", where=str(features / feature), hint="--name NAME")
    if not dry_run:
        new_feature(features, feature, "prd.json", text)
    lines = [f"{raw['id']} {raw['title']}{' (done)' if raw['passes'] else ''}" for raw in plan.stories]
    lines += [f"left out: {reason}" for reason in plan.left_out]
    format_title = FORMATS[format_name].label if format_name in FORMATS else "issues of GitHub"
    stories = counted(len(plan.stories), "story", "stories")
    lines.append(f"{stories}, read as {format_title}; left out: {len(plan.left_out) or 'nothing'}; "
                 f"next: ralphy plan {feature}")  # fmt: skip
    return call.output.answer("import", "\n".join(lines), feature=feature, format=format_name, dry_run=dry_run,
                              stories=plan.stories, left_out=plan.left_out)  # fmt: skip


def _of_issues(source: IssueSource, label: str) -> ImportPlan:
    issues, is_cut = read_issues(source, label, os.environ)
    plan = plan_of(issues, source.slug)
    if is_cut:
        plan.left_out.append(f"{source.slug}: the issues beyond the first {len(issues)} (--label NAME reads fewer)")
    return plan


def _require_valid(plan: ImportPlan, source: str) -> None:
    """Raises InvalidInput with all that prd.json does not allow, each at its story's place in the other tool's file."""
    lines = []
    for problem in prd_problems(plan.document())[:MOST_SHOWN]:
        match problem.path:
            case ("userStories", int(number), *inner):
                at, what = plan.places[number], f"{plan.stories[number]['id']}: {rendered(inner)} {problem.message}"
            case _:
                at, what = source, str(problem)
        lines.append((at, what, problem.hint))
    if lines:
        (where, first, hint), *others = lines
        raise InvalidInput("\n".join([first, *(f"{at}: {what}" for at, what, _ in others)]), where=where, hint=hint)


@click.command("export")
@feature_argument
@with_options
def export(call: Invocation, feature: str | None) -> int:
    """To stdout."""
    with call.seen(feature) as (_, s):
        prd, name = s.prd, s.feature
    if not prd.stories:
        raise NotFound(f"{name} has no stories yet", hint=f"ralphy why {name}")
    more = {key: prd.raw[key] for key in ("description", "branchName") if isinstance(prd.raw.get(key), str)}
    text = prd_of(ImportPlan(str(prd.raw.get("project") or name), [dict(s.raw) for s in prd.stories], more=more))
    return call.output.exact_answer("export", text, feature=name, files={"prd.json": text})


def _files(path: Path) -> dict[str, str]:
    """The file, or the Markdown files below the folder."""
    if path.is_dir():
        inside = sorted(entry.path for entry in walk(path) if entry.name.endswith(".md"))
        if len(inside) > _MOST_FILES:
            raise InvalidInput(f"holds {len(inside)} Markdown files, more than {_MOST_FILES}", where=str(path))
        contents = {name: read_input(path / name, _MOST_BYTES) for name in inside}
    else:
        contents = {path.name: read_input(path, _MOST_BYTES)}
    texts = {name: data.decode("utf-8-sig", "replace") for name, data in contents.items() if data is not None}
    if not texts:
        problem = "has no Markdown files" if path.is_dir() else "does not exist"
        raise NotFound(problem, where=str(path), hint="name a file, or a folder with Markdown files")
    return texts
