"""decompose: turn a PRD into a specification and stories, without building them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import click

from ralphy.cli.options import Amount, Invocation, with_options
from ralphy.cli.run.drivers import drive
from ralphy.cli.setup.init import CONFIG
from ralphy.cli.setup.ralph_sh import write_script
from ralphy.documents.readiness import require_ready
from ralphy.errors import Conflict, ExitCode, NotFound
from ralphy.files.read import read_input, read_text
from ralphy.pipeline.decide import waiting_gate
from ralphy.pipeline.model import Story
from ralphy.pipeline.plan import waves_of
from ralphy.pipeline.steps.spec import SPEC
from ralphy.scaffold.writer import new_feature, slug

_SIZES = click.Choice(["small", "medium", "large"])
_MOST_BYTES = 1024 * 1024


@click.command("decompose")
@click.argument("prd", metavar="PRD.md", type=click.Path())
@click.option("--name", metavar="FEATURE", help="Name of the feature; default: from the PRD's title.")
@click.option("--granularity", type=_SIZES, help="Size of the stories; default: the setting stories.granularity.")
@click.option("--max-cost", type=Amount(), metavar="USD", help="Maximum cost in USD.")
@click.option("--ralph-sh/--no-ralph-sh", "with_script", default=None,
              help="Also write ralph.sh and prompt.md; default: where there is no .ralphy/config.yaml.")  # fmt: skip
@click.option("--dry-run", "-n", is_flag=True, help="Show what would be done; change nothing.")
@with_options
def decompose(
    call: Invocation, prd: str, name: str | None, granularity: str | None, max_cost: float | None,
    with_script: bool | None, dry_run: bool,
) -> int:  # fmt: skip
    """The stories wait for approval. A PRD.md outside of docs/features/ is copied into a new feature. An agent writes
    the stories; they are refused if their dependencies are unknown or circular. ralph.sh is a loop over them that runs
    without Ralphy.
    """
    repository = call.repository()
    text = _read(call, prd)
    if granularity:
        call.override({"stories.granularity": granularity})
    config = call.settings().config
    if config.verify.prd == "reject":
        require_ready(text, prd)
    features = repository.root / config.project.features_dir
    feature = name or _name(features, call.directory / prd, text)
    is_new = _is_new(features / feature, text)
    if dry_run:
        message = f"{'would create' if is_new else 'exists:'} {config.project.features_dir}/{feature}/PRD.md; "
        message += f"{config.models.specification} would write SPEC.md and {config.stories.granularity} stories"
        return call.output.answer("decompose", message, feature=feature, dry_run=True, stories=[], said=message,
                                  granularity=config.stories.granularity)  # fmt: skip
    if is_new:
        call.require_nothing_begun()
        call.require_allowed()
        made = new_feature(features, feature, "PRD.md", text)
        call.output.note(f"feature {feature}: {made.relative_to(repository.root)}")
    call.look_again()
    code = drive(call, feature, SPEC.name, {"max_cost": max_cost}, asks=False)
    if code != ExitCode.DONE:
        return code
    if with_script is None:
        with_script = not (repository.root / CONFIG).exists()
    files = write_script(call, features / feature) if with_script else []
    return _show(call, feature, config.stories.granularity, files)


def _read(call: Invocation, prd: str) -> str:
    """The text of the PRD. Raises NotFound, with the path of its PRD.md for the name or the folder of a feature."""
    path = call.directory / prd
    data = None if path.is_dir() else read_input(path, _MOST_BYTES)
    if data is None:
        of_feature = f"{call.feature(prd).typed}/PRD.md" if call.is_feature(prd) else "PRD.md"
        raise NotFound(f"{path} is a folder" if path.is_dir() else f"there is no file {path}",
                       hint=f"ralphy decompose {of_feature}")  # fmt: skip
    return data.decode("utf-8", "replace")


def _name(features: Path, prd: Path, text: str) -> str:
    """The feature whose PRD.md this is, or a name from its title."""
    if prd.name == "PRD.md" and prd.parent.resolve().parent == features.resolve():
        return prd.parent.name
    title = next((line for line in text.splitlines() if line.startswith("# ")), prd.stem)
    return slug(re.sub(r"^\W*(?:PRD\b\W*)?", "", title) or prd.stem)


def _is_new(folder: Path, text: str) -> bool:
    """Is the feature new? Raises Conflict for a folder with another PRD.md."""
    there = folder / "PRD.md"
    if not there.exists():
        return True
    if read_text(there) != text:
        raise Conflict("has another PRD.md", where=str(folder), hint="name the new feature: --name NAME")
    return False


def _show(call: Invocation, feature: str, granularity: str, files: Sequence[tuple[str, str]]) -> int:
    """Print the stories with what each waits for, and how to go on."""
    with call.seen(feature) as (w, snapshot):
        at = w.feature.in_repository("SPEC.md")
        is_gate_open = waiting_gate(snapshot, w.config) == SPEC.name
    waves = waves_of(snapshot, len(snapshot.prd.stories))
    stories_by_wave = [(number, story) for number, wave in enumerate(waves, 1) for story in wave]
    following = [f"read {at}", f"ralphy approve {feature}"] if is_gate_open else []
    following.append(f"ralphy loop {feature}")
    lines = [f"{number:>3}  {story.id} {story.title}{_after(story)}" for number, story in stories_by_wave]
    rows = [{"id": story.id, "title": story.title, "priority": story.priority, "wave": number,
             "depends_on": list(story.depends_on)} for number, story in stories_by_wave]  # fmt: skip
    folder = at.rpartition("/")[0]
    lines += [f"{how} {folder}/{file}" for file, how in files]
    if files:
        lines.append(f"without Ralphy: customise both (TO CUSTOMISE), commit {folder}/, then {folder}/ralph.sh")
    return call.output.answer("decompose", "\n".join([*lines, f"next: {', then '.join(following)}"]), feature=feature,
                              dry_run=False, granularity=granularity, stories=rows, next=following,
                              files=[{"name": file, "done": how} for file, how in files])  # fmt: skip


def _after(story: Story) -> str:
    return f" (after {', '.join(story.depends_on)})" if story.depends_on else ""
