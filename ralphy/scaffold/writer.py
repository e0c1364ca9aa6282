"""What Ralphy writes into somebody's repository when asked: settings, Make targets, a feature's folder.

`plan` lists the files, `apply` writes them. An existing file is kept, and the plan says so: a second run changes
nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from ralphy.detect.stack import StackReport
from ralphy.documents.feature_folder import IGNORE_TEXT, NAME
from ralphy.errors import Conflict, EnvironmentProblem, InvalidInput
from ralphy.files.atomic import replace_file
from ralphy.files.read import read_regular, read_text
from ralphy.resources import schema, template_root
from ralphy.scaffold.config_template import config_text

SCHEMAS = ("config", "prd")
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
INCLUDE_LINE = "-include .ralphy/ralphy.mk"
MAX_NAME = 40

_INCLUDED = re.compile(r"^[ ]*[-s]?include[ \t].*\.ralphy/ralphy\.mk", re.M)
_RULE = re.compile(r"^([^\s#:=][^:=#\n]*?)[ \t]*::?(?![:=])", re.M)
_TARGETS = re.compile(r"^RALPHY_TARGETS \?= (.+)$", re.M)
_LETTERS = str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "þ": "th", "ı": "i"})

_REPOSITORY_IGNORE = """\
# Of this folder, the settings are committed; what runs leave here is not.
*
!.gitignore
!config.yaml
!secrets-allow
!ralphy.mk
!prompts/
!prompts/*
!schemas/
!schemas/*
"""


# What `init --ci` writes: template, path, and what it is for.
_CI = (
    ("prove.yml", ".github/workflows/prove.yml", "proves the stories of pull requests again"),
    ("ralphy.yml", ".github/workflows/ralphy.yml", "works on features when you start it"),
    ("action.yml", ".github/actions/ralphy/action.yml", "the action that the workflow uses"),
)


_NO_SOURCE = 'RALPHY_SOURCE: ""'


class FileAction(Enum):
    CREATE = "create"
    APPEND = "append"
    REPLACE = "replace"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """What happens to one file: `path` is relative to `root`, `text` is its content, or what is appended to it."""

    root: Path
    path: str
    action: FileAction
    text: str
    why: str

    @property
    def file(self) -> Path:
        return self.root / self.path


def plan(
    root: Path, stack: StackReport, features_dir: str = "docs/features", *, with_ci: bool = False
) -> list[PlannedFile]:
    """What `ralphy init` does to the repository at `root`, given its detected stack. Writes nothing."""
    names = ", ".join(check.name for check in stack.checks)
    summary = f"checks found: {names}" if names else "no checks found"
    settings = config_text(root.name, stack, features_dir)
    files = [
        _planned(root, ".ralphy/config.yaml", settings, f"the settings; {summary}"),
        _planned(root, ".ralphy/.gitignore", _REPOSITORY_IGNORE, "keeps the files of runs out of Git"),
        _planned(root, ".ralphy/ralphy.mk", make_targets(features_dir), "the Make targets"),
    ]
    for name in SCHEMAS:
        files.append(_planned(root, f".ralphy/schemas/{name}.schema.json", _schema_text(name), "for editors"))
    if with_ci:
        for name, path, why in _CI:
            text = (template_root() / "ci" / name).read_text(encoding="utf-8")
            text = text.replace(_NO_SOURCE, f'RALPHY_SOURCE: "{source_of_this_ralphy()}"')
            files.append(_planned(root, path, text, why))
    return [*files, _makefile(root)]


def source_of_this_ralphy() -> str:
    """What pip installs this very Ralphy from, anywhere: its repository at its commit; "" if it came from elsewhere.

    Reads what pip notes at an installation (PEP 610).
    """
    try:
        noted = json.loads(distribution("ralphy-pipeline").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return ""
    source = f"git+{noted.get('url')}@{noted.get('vcs_info', {}).get('commit_id')}"
    return source if re.fullmatch(r"git\+https://[\w./~-]+@[0-9a-f]{40,64}", source) else ""


def stale_schemas(root: Path) -> list[str]:
    """The paths of the schemas in `.ralphy/schemas/` that differ from this Ralphy's; missing ones do not count."""
    schemas = ((f".ralphy/schemas/{name}.schema.json", _schema_text(name)) for name in SCHEMAS)
    return [path for path, text in schemas if (root / path).is_file() and read_text(root / path) != text]


def write_schemas(root: Path) -> list[str]:
    """Replace the schemas that differ from this Ralphy's; a line for each. Only editors read them."""
    lines = []
    for path in stale_schemas(root):
        refuse_links(root, path)
        replace_file(root / path, _schema_text(Path(path).name.removesuffix(".schema.json")).encode())
        lines.append(f"replaced {path}")
    return lines


def _schema_text(name: str) -> str:
    return json.dumps(schema(name), indent=2, ensure_ascii=False) + "\n"


def apply(files: Sequence[PlannedFile]) -> list[str]:
    """Carry a plan out; a line per file that says what was done with it.

    A file that has appeared since the plan is kept. Raises EnvironmentProblem when one cannot be written.
    """
    return [_applied(file) for file in files]


CHECKS_FOUND = "look at `checks:` in .ralphy/config.yaml: these commands decide whether a story passes"


def to_do_first(files: Sequence[PlannedFile]) -> list[str]:
    """What a person has to look at before the next commands, in sentences."""
    steps = []
    settings = files[0]
    if settings.action is FileAction.CREATE:
        none = "add at least one check to .ralphy/config.yaml, which shows an example: without it no story is tested"
        steps.append(CHECKS_FOUND if "\nchecks:" in settings.text else none)
    unset = [file.path for file in files if file.action is FileAction.CREATE and _NO_SOURCE in file.text]
    if unset:
        steps.append(f"set RALPHY_SOURCE in {' and '.join(unset)}: where to install Ralphy from is not known")
    makefile = files[-1]
    if makefile.action is FileAction.KEEP and not _INCLUDED.search(read_text(makefile.file)):
        steps.append(f"for `make loop`, add this line to {makefile.path}: {INCLUDE_LINE}")
    return steps


def make_targets(features_dir: str = "docs/features") -> str:
    """`.ralphy/ralphy.mk` for a repository whose features live in that folder."""
    text = (template_root() / "ralphy.mk").read_text(encoding="utf-8")
    return text.replace("FEATURES_DIR ?= docs/features", f"FEATURES_DIR ?= {features_dir}")


def init_prompts(root: Path, force: bool = False) -> list[str]:
    """Copy the steps' prompts to `.ralphy/prompts/`, with `force` over existing files; a line per file."""
    templates = sorted((template_root() / "prompts").glob("[!_]*.md.j2"))
    files = [_planned(root, f".ralphy/prompts/{template.name}", template.read_text(encoding="utf-8"),
                      "edit or delete it", force=force) for template in templates]  # fmt: skip
    return apply(files)


def new_feature(folder: Path, name: str, file: str, text: str) -> Path:
    """Make the feature's folder in `folder` with its first file, such as PRD.md, and return it.

    Raises InvalidInput if `name` cannot name a feature, Conflict if the feature has that file.
    """
    feature = folder / require_name(name)
    if (feature / file).exists():
        raise Conflict("the feature already exists", where=str(feature), hint=f"run: ralphy start {name}")
    files = (
        _planned(feature, ".gitattributes", "progress.txt merge=union\n", ""),
        _planned(feature, ".gitignore", IGNORE_TEXT, ""),
        _planned(feature, file, text, ""),
    )
    apply(files)
    return feature


def require_name(name: str) -> str:
    """The name, if it can name a feature. Raises InvalidInput otherwise."""
    if not NAME.fullmatch(name):
        raise InvalidInput(f"{name!r} is not a feature name", hint="use letters, digits, - and _")
    return name


def slug(description: str) -> str:
    """A feature's name from a description, at most MAX_NAME characters; never empty, the same every time."""
    letters = unicodedata.normalize("NFKD", description.lower().translate(_LETTERS))
    words = re.findall(r"[a-z0-9]+", re.sub(r"['’]", "", letters).encode("ascii", "ignore").decode())
    name = ""
    for word in words:
        if len(name) + 1 + len(word) > MAX_NAME and name:
            break
        name = f"{name}-{word}" if name else word[:MAX_NAME]
    return name or f"feature-{hashlib.sha256(description.encode('utf-8', 'replace')).hexdigest()[:8]}"


def prd_text(description: str) -> str:
    """A PRD.md of one sentence or more: a title, the objective, and a scope that leaves the rest to SPEC.md."""
    text = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", " ", description.replace("\r\n", "\n")).strip()
    first = text.split("\n", 1)[0].lstrip("# ").rstrip(" .")
    title = first if len(first) <= 72 else f"{first[:71].rsplit(' ', 1)[0]}…"
    return (
        f"# {title[:1].upper()}{title[1:]}\n\n## Objective\n\n{text}\n\n## Scope\n\n"
        "Only what the objective needs. What it leaves open is decided in the specification,\n"
        "in the simplest way that fits this repository.\n"
    )


def _planned(root: Path, path: str, text: str, why: str, *, force: bool = False) -> PlannedFile:
    """The file as new, or kept if it exists; with `force` an existing one is replaced."""
    file = root / path
    if not file.exists() and not file.is_symlink():
        return PlannedFile(root, path, FileAction.CREATE, text, why)
    if read_text(file) == text:
        return PlannedFile(root, path, FileAction.KEEP, text, "already up to date")
    if force:
        return PlannedFile(root, path, FileAction.REPLACE, text, why)
    return PlannedFile(root, path, FileAction.KEEP, text, "it already exists")


def _makefile(root: Path) -> PlannedFile:
    """What makes `make loop` work: a new Makefile, or a line at the end of the existing one."""
    path = next((name for name in MAKEFILES if (root / name).exists() or (root / name).is_symlink()), "")
    if not path:
        text = f"{INCLUDE_LINE}\n\n.DEFAULT_GOAL := ralphy-help\n"
        return PlannedFile(root, "Makefile", FileAction.CREATE, text, "includes the Make targets")
    data = read_regular(root / path)
    text = (data or b"").decode("utf-8", "replace")
    if why := _why_not_append(data, text):
        return PlannedFile(root, path, FileAction.KEEP, "", why)
    why = "one line at its end includes the Make targets"
    return PlannedFile(root, path, FileAction.APPEND, _appended(text), why)


def _why_not_append(data: bytes | None, text: str) -> str:
    if data is None:
        return "it is not a plain file"
    if _INCLUDED.search(text):
        return "it already includes the Make targets"
    return "it has its own target `loop`" if "loop" in _defined(text) else ""


def _appended(text: str) -> str:
    """The include, on a line of its own whatever the last one was; targets that are taken are left out."""
    names = _target_names()
    free = [name for name in names if name not in _defined(text)]
    start = "\n" if not text or text.endswith("\n") else "\n\n"
    chosen = "" if free == names else f"RALPHY_TARGETS := {' '.join(free)}\n"
    return f"{start}{chosen}{INCLUDE_LINE}\n"


def _target_names() -> list[str]:
    match = _TARGETS.search(make_targets())
    return match[1].split() if match else []


def _defined(makefile: str) -> set[str]:
    """The names that a Makefile's own rules make."""
    return {name for rule in _RULE.finditer(makefile) for name in rule[1].split()}


def _applied(planned: PlannedFile) -> str:
    if planned.action is FileAction.KEEP:
        return f"kept {planned.path}: {planned.why}"
    refuse_links(planned.root, planned.path)
    try:
        planned.file.parent.mkdir(parents=True, exist_ok=True)
        if planned.action is FileAction.REPLACE:
            replace_file(planned.file, planned.text.encode())
            return f"replaced {planned.path}: {planned.why}"
        mode, done = ("xb", "created") if planned.action is FileAction.CREATE else ("ab", "added to")
        with planned.file.open(mode) as out:
            out.write(planned.text.encode())
    except OSError as error:
        if isinstance(error, FileExistsError) and planned.file.exists():
            return f"kept {planned.path}: it already exists"
        raise EnvironmentProblem(f"cannot be written: {error.strerror}", where=str(planned.file)) from error
    return f"{done} {planned.path}: {planned.why}"


def refuse_links(root: Path, inside: str) -> None:
    """Raises Conflict if the path, or a folder above it, is a symlink: it may lead out of the repository."""
    parts = Path(inside).parts
    for link in (root.joinpath(*parts[:n]) for n in range(1, len(parts) + 1)):
        if link.is_symlink():
            raise Conflict("refusing to write through a symlink", where=str(link), hint="replace it with a plain one")
