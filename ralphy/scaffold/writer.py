"""What Ralphy writes into somebody's repository when asked: settings, Make targets, a feature's folder.

First a plan, a list of changes that can be shown; then they are applied. A file that is there is never
overwritten: it is kept, and the plan says so, so that doing it again changes nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from ralphy.config.values import Check
from ralphy.documents.feature_folder import NAME, NOT_COMMITTED
from ralphy.errors import Conflict, EnvironmentProblem, InvalidInput
from ralphy.files.atomic import replace_file
from ralphy.files.read import read_regular, read_text
from ralphy.resources import schema, template_root

SCHEMAS = ("config", "prd")
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
INCLUDE_LINE = "-include .ralphy/ralphy.mk"
MAX_NAME = 40
UP_TO_DATE = "already up to date"

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


class ChangeKind(Enum):
    CREATE = "create"
    APPEND = "append"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class FileToWrite:
    """One file of `root`: `path` is relative to it, `text` is all of a new file or what is appended."""

    root: Path
    path: str
    kind: ChangeKind
    text: str
    why: str

    @property
    def file(self) -> Path:
        return self.root / self.path


def plan(
    root: Path, *, language: str = "", checks: Sequence[Check] = (), features_dir: str = "docs/features",
    with_ci: bool = False, example: Check | None = None, setup: str = "",
) -> list[FileToWrite]:  # fmt: skip
    """What `ralphy init` would do to the repository at `root`, given its detected stack. Writes nothing.

    `example` is the check to show as a comment where there are no checks.
    """
    from ralphy.scaffold.config_template import EXAMPLE, config_text

    settings = config_text(root.name, language, checks, features_dir, example or EXAMPLE, setup)
    summary = f"checks found: {', '.join(check.name for check in checks)}" if checks else "no checks found"
    changes = [
        _new(root, ".ralphy/config.yaml", settings, f"the settings; {summary}"),
        _new(root, ".ralphy/.gitignore", _REPOSITORY_IGNORE, "keeps the files of runs out of Git"),
        _new(root, ".ralphy/ralphy.mk", make_targets(features_dir), "the Make targets"),
    ]
    for name in SCHEMAS:
        changes.append(_new(root, f".ralphy/schemas/{name}.schema.json", _schema_text(name), "for editors"))
    if with_ci:
        for name, path, why in _CI:
            text = (template_root() / "ci" / name).read_text(encoding="utf-8")
            text = text.replace(_NO_SOURCE, f'RALPHY_SOURCE: "{source_of_this_ralphy()}"')
            changes.append(_new(root, path, text, why))
    return [*changes, _makefile(root)]


def source_of_this_ralphy() -> str:
    """What pip installs this very Ralphy from, anywhere: its repository at its commit; "" if it came from elsewhere.

    Reads what pip notes at an installation (PEP 610).
    """
    from importlib.metadata import PackageNotFoundError, distribution  # slow to load

    try:
        noted = json.loads(distribution("ralphy-pipeline").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return ""
    source = f"git+{noted.get('url')}@{noted.get('vcs_info', {}).get('commit_id')}"
    return source if re.fullmatch(r"git\+https://[\w./~-]+@[0-9a-f]{40,64}", source) else ""


def stale_schemas(root: Path) -> list[str]:
    """The schemas in `.ralphy/schemas/` that are not those of this Ralphy, by path; those that are missing are not."""
    schemas = ((f".ralphy/schemas/{name}.schema.json", _schema_text(name)) for name in SCHEMAS)
    return [path for path, text in schemas if (root / path).is_file() and read_text(root / path) != text]


def write_schemas(root: Path) -> list[str]:
    """Replace the schemas that are not those of this Ralphy; a line for each. Nobody but editors reads them."""
    lines = []
    for path in stale_schemas(root):
        refuse_links(root, path)
        replace_file(root / path, _schema_text(Path(path).name.removesuffix(".schema.json")).encode())
        lines.append(f"replaced {path}")
    return lines


def _schema_text(name: str) -> str:
    return json.dumps(schema(name), indent=2, ensure_ascii=False) + "\n"


def apply(changes: Sequence[FileToWrite]) -> list[str]:
    """Carry a plan out; a line per file that says what was done with it.

    A file that has appeared since the plan is kept. Raises EnvironmentProblem when one cannot be written.
    """
    return [_applied(change) for change in changes]


CHECKS_FOUND = "look at `checks:` in .ralphy/config.yaml: these commands decide whether a story passes"


def to_do_first(changes: Sequence[FileToWrite]) -> list[str]:
    """What a person has to look at before the next commands, in sentences."""
    steps = []
    settings = changes[0]
    if settings.kind is ChangeKind.CREATE:
        none = "add at least one check to .ralphy/config.yaml, which shows an example: without it no story is tested"
        steps.append(CHECKS_FOUND if "\nchecks:" in settings.text else none)
    unset = [change.path for change in changes if change.kind is ChangeKind.CREATE and _NO_SOURCE in change.text]
    if unset:
        steps.append(f"set RALPHY_SOURCE in {' and '.join(unset)}: where to install Ralphy from is not known")
    makefile = changes[-1]
    if makefile.kind is ChangeKind.KEEP and not _INCLUDED.search(read_text(makefile.file)):
        steps.append(f"for `make loop`, add this line to {makefile.path}: {INCLUDE_LINE}")
    return steps


def make_targets(features_dir: str = "docs/features") -> str:
    """`.ralphy/ralphy.mk` for a repository whose features live in that folder."""
    text = (template_root() / "ralphy.mk").read_text(encoding="utf-8")
    return text.replace("FEATURES_DIR ?= docs/features", f"FEATURES_DIR ?= {features_dir}")


def init_prompts(root: Path, force: bool = False) -> list[str]:
    """Copy the steps' prompts to `.ralphy/prompts/`, with `force` over what is there; a line per file."""
    lines = []
    for template in sorted((template_root() / "prompts").glob("[!_]*.md.j2")):
        text = template.read_text(encoding="utf-8")
        change = _new(root, f".ralphy/prompts/{template.name}", text, "edit or delete it")
        if force and change.kind is ChangeKind.KEEP and change.why != UP_TO_DATE:
            refuse_links(change.root, change.path)
            replace_file(change.file, text.encode())
            lines.append(f"replaced {change.path}")
        else:
            lines.append(_applied(change))
    return lines


def new_feature(folder: Path, name: str, description: str) -> Path:
    """Make the feature's folder in `folder` with a PRD.md from a description, and return it.

    Raises InvalidInput for what is not a name, Conflict if the feature has a PRD.md.
    """
    return feature_of_prd(folder, name, _prd_text(description))


def feature_of_prd(folder: Path, name: str, prd: str) -> Path:
    """The same with the text of its PRD.md."""
    return feature_with(folder, name, "PRD.md", prd)


def feature_with(folder: Path, name: str, file: str, text: str) -> Path:
    """The same with any file that a feature can begin with."""
    feature = folder / require_name(name)
    if (feature / file).exists():
        raise Conflict("the feature already exists", where=str(feature), hint=f"run: ralphy start {name}")
    changes = (
        _new(feature, ".gitattributes", "progress.txt merge=union\n", ""),
        _new(feature, ".gitignore", feature_ignore_text(), ""),
        _new(feature, file, text, ""),
    )
    apply(changes)
    return feature


def require_name(name: str) -> str:
    """The name of a feature. Raises InvalidInput for what is not a name."""
    if not NAME.fullmatch(name):
        raise InvalidInput(f"{name!r} is not a feature name", hint="use letters, digits, - and _")
    return name


def feature_ignore_text() -> str:
    """What Git ignores in a feature's folder: the view, the markers, and what runs leave in `.ralphy/`."""
    lines = (
        *(f"/{name}" for name in NOT_COMMITTED),
        "/.ralphy/*",
        "!/.ralphy/config.yaml",
        "!/.ralphy/prompts/",
        "/.*.tmp-*",
    )
    return "\n".join(lines) + "\n"


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


def _prd_text(description: str) -> str:
    text = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", " ", description.replace("\r\n", "\n")).strip()
    first = text.split("\n", 1)[0].lstrip("# ").rstrip(" .")
    title = first if len(first) <= 72 else f"{first[:71].rsplit(' ', 1)[0]}…"
    return (
        f"# {title[:1].upper()}{title[1:]}\n\n## Objective\n\n{text}\n\n## Scope\n\n"
        "Only what the objective needs. What it leaves open is decided in the specification,\n"
        "in the simplest way that fits this repository.\n"
    )


def _new(root: Path, path: str, text: str, why: str) -> FileToWrite:
    """The change that creates a file, or keeps the one that is there."""
    file = root / path
    if not file.exists() and not file.is_symlink():
        return FileToWrite(root, path, ChangeKind.CREATE, text, why)
    same = read_text(file) == text
    return FileToWrite(root, path, ChangeKind.KEEP, text, UP_TO_DATE if same else "it already exists")


def _makefile(root: Path) -> FileToWrite:
    """The change that makes `make loop` work: a new Makefile, or a line at the end of the one there."""
    path = next((name for name in MAKEFILES if (root / name).exists() or (root / name).is_symlink()), "")
    if not path:
        text = f"{INCLUDE_LINE}\n\n.DEFAULT_GOAL := ralphy-help\n"
        return FileToWrite(root, "Makefile", ChangeKind.CREATE, text, "includes the Make targets")
    data = read_regular(root / path)
    text = (data or b"").decode("utf-8", "replace")
    if why := _why_not_append(data, text):
        return FileToWrite(root, path, ChangeKind.KEEP, "", why)
    return FileToWrite(root, path, ChangeKind.APPEND, _appended(text), "one line at its end includes the Make targets")


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


def _applied(change: FileToWrite) -> str:
    if change.kind is ChangeKind.KEEP:
        return f"kept {change.path}: {change.why}"
    refuse_links(change.root, change.path)
    mode, done = ("xb", "created") if change.kind is ChangeKind.CREATE else ("ab", "added to")
    try:
        change.file.parent.mkdir(parents=True, exist_ok=True)
        with change.file.open(mode) as out:
            out.write(change.text.encode())
    except OSError as error:
        if isinstance(error, FileExistsError) and change.file.exists():
            return f"kept {change.path}: it already exists"
        raise EnvironmentProblem(f"cannot be written: {error.strerror}", where=str(change.file)) from error
    return f"{done} {change.path}: {change.why}"


def refuse_links(root: Path, inside: str) -> None:
    """Raises Conflict if a place on the way to the path is a symlink: it may lead out of the repository."""
    parts = Path(inside).parts
    for link in (root.joinpath(*parts[:n]) for n in range(1, len(parts) + 1)):
        if link.is_symlink():
            raise Conflict("refusing to write through a symlink", where=str(link), hint="replace it with a plain one")
