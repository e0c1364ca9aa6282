"""The language that prompts are written in: a bounded part of Jinja2, and where its templates lie.

A prompt has variables, if, for, set, include, comparisons and the filters of FILTERS. Calls, macros
and arithmetic are refused when the template is read, so that what it costs has a bound: with those, a
line of text could take all memory. Jinja2 is loaded here, so import this module where it is used.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from jinja2 import BaseLoader, StrictUndefined, TemplateNotFound, TemplateSyntaxError, nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.filters import FILTERS as JINJA_FILTERS
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ralphy.errors import InvalidInput
from ralphy.files.safe_open import read_bounded
from ralphy.pipeline.steps.table import former_templates

MAX_BYTES = 256 * 1024
MIN_CHARS = 100
MAX_LOOPS = 20_000
# Names that a project's folder cannot take over.
RESERVED = frozenset({"_report.md.j2"})
# "own:story" is the project's template of a step; every other name is a partial or a built-in one.
OWN = "own:"
FILTERS = (
    "capitalize",
    "count",
    "d",
    "default",
    "first",
    "join",
    "last",
    "length",
    "lower",
    "title",
    "trim",
    "upper",
    "wordcount",
)

_ALLOWED = (
    nodes.And,
    nodes.Assign,
    nodes.Compare,
    nodes.CondExpr,
    nodes.Const,
    nodes.Filter,
    nodes.For,
    nodes.Getattr,
    nodes.Getitem,
    nodes.If,
    nodes.Include,
    nodes.List,
    nodes.Name,
    nodes.Not,
    nodes.Operand,
    nodes.Or,
    nodes.Output,
    nodes.Template,
    nodes.TemplateData,
    nodes.Test,
    nodes.Tuple,
)
_LOOP_FILTER = "counted"
_LOOPS_LEFT = "loops left"


class PromptEnvironment(ImmutableSandboxedEnvironment):
    """Jinja2's sandbox, without what cannot be bounded; every loop counts its rounds."""

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        template = super()._parse(source, name, filename)
        for node in template.find_all(nodes.Node):
            if not isinstance(node, _ALLOWED):
                kind = type(node).__name__.lower()
                raise TemplateSyntaxError(f"a prompt has no {kind}", node.lineno, name, filename)
            if isinstance(node, nodes.For):
                rounds = nodes.Filter(node.iter, _LOOP_FILTER, [], [], None, None, lineno=node.lineno)
                node.iter = rounds.set_environment(self)
        return template


class PromptFolders(BaseLoader):
    """Templates of the folders, in order, then of the package; read again when they have changed."""

    def __init__(self, folders: Sequence[Path], package: Path) -> None:
        self._folders = folders
        self._package = package

    def get_source(
        self,
        environment: object,  # noqa: ARG002 - the signature is Jinja2's
        template: str,
    ) -> tuple[str, str, Callable[[], bool]]:
        path = self._find(template)
        text = _read(path, template)

        def is_fresh() -> bool:
            try:
                return self._find(template) == path and _read(path, template) == text
            except (InvalidInput, TemplateNotFound):
                return False

        return text, str(path), is_fresh

    def own(self, step: str) -> Path | None:
        """The project's own template of a step, if there is one."""
        names = (f"{step}.md.j2", f"{step}.md", *former_templates(step))
        paths = (folder / name for folder in self._folders for name in names)
        return next((path for path in paths if path.is_symlink() or path.exists()), None)

    def _find(self, name: str) -> Path:
        if name.startswith(OWN):
            found = self.own(name.removeprefix(OWN))
        elif "/" in name or "\\" in name:
            found = None
        else:
            partial = name.startswith("_") and name not in RESERVED
            folders = (*self._folders, self._package) if partial else (self._package,)
            found = next((folder / name for folder in folders if (folder / name).exists()), None)
        if found is None:
            raise TemplateNotFound(name)
        return found


@lru_cache(maxsize=16)
def language(folders: tuple[Path, ...], package: Path) -> PromptEnvironment:
    """The environment for these folders; it keeps its compiled templates."""
    environment = PromptEnvironment(
        loader=PromptFolders(folders, package),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals.clear()
    environment.filters = {name: JINJA_FILTERS[name] for name in FILTERS}
    environment.filters |= {"join": _join, _LOOP_FILTER: _counted}
    return environment


def generate(environment: PromptEnvironment, name: str, values: Mapping[str, object]) -> str:
    """The template's text; SecurityError once it is longer than MAX_BYTES or loops more than MAX_LOOPS."""
    pieces: list[str] = []
    room = MAX_BYTES
    for piece in environment.get_template(name).generate({**values, _LOOPS_LEFT: iter(range(MAX_LOOPS))}):
        room -= len(piece.encode("utf-8", "replace"))
        if room < 0:
            raise SecurityError(f"the prompt is longer than {MAX_BYTES // 1024} KB")
        pieces.append(piece)
    return "".join(pieces)


def place(error: BaseException, fallback: str) -> str:
    """Where a template failed, as "file:line" if the line is known."""
    if isinstance(error, TemplateSyntaxError):
        return f"{error.filename or fallback}:{error.lineno}"
    if isinstance(error, InvalidInput):
        return error.where or fallback
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.endswith((".md", ".md.j2"))]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else fallback


def _read(path: Path, name: str) -> str:
    """A template's text; InvalidInput for what is not a readable template."""
    if path.is_symlink():
        raise InvalidInput("is not a regular file", where=str(path))
    data = read_bounded(path, MAX_BYTES)
    if data is None:
        raise TemplateNotFound(name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"is not UTF-8 (byte {error.start})", where=str(path)) from None
    if name.startswith(OWN) and len(text.strip()) < MIN_CHARS:
        raise InvalidInput(f"has fewer than {MIN_CHARS} characters", where=str(path))
    return text


@pass_context
def _counted(context: Context, items: Iterable[object]) -> Iterator[object]:
    left = context[_LOOPS_LEFT]
    for item in items:
        if next(left, None) is None:
            raise SecurityError(f"the prompt loops more than {MAX_LOOPS} times")
        yield item


def _join(items: Iterable[object], separator: str = "") -> str:
    pieces: list[str] = []
    room = MAX_BYTES
    for item in items:
        pieces += [separator, str(item)] if pieces else [str(item)]
        room -= len(pieces[-1]) + len(separator)
        if room < 0:
            raise SecurityError(f"join makes more than {MAX_BYTES // 1024} KB")
    return "".join(pieces)
