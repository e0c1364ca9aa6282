"""The language of prompts: Jinja2's sandbox, with the templates of the project and of Ralphy."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

from jinja2 import FunctionLoader, StrictUndefined, TemplateSyntaxError
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ralphy.errors import InvalidInput
from ralphy.files.read import read_input
from ralphy.pipeline.steps.table import former_templates

MAX_BYTES = 256 * 1024
MIN_CHARS = 100
# Partials that a project cannot replace.
RESERVED = frozenset({"_report.md.j2"})
# "own:story" is the project's template of a step; every other name is a partial or a built-in one.
OWN = "own:"


def own_template(step: str, folders: Sequence[Path]) -> Path | None:
    """The project's own template of a step, if there is one."""
    names = (f"{step}.md.j2", f"{step}.md", *former_templates(step))
    paths = (folder / name for folder in folders for name in names)
    return next((path for path in paths if path.is_symlink() or path.exists()), None)


def generate(name: str, values: Mapping[str, object], folders: Sequence[Path], package: Path) -> str:
    """The text of a template from the folders, in order, or from the package; SecurityError once it is longer than
    MAX_BYTES."""
    environment = _environment(folders, package)
    pieces: list[str] = []
    room = MAX_BYTES
    for piece in environment.get_template(name).generate(values):
        room -= len(piece.encode("utf-8", "replace"))
        if room < 0:
            raise SecurityError(f"the prompt is longer than {MAX_BYTES // 1024} KB")
        pieces.append(piece)
    return "".join(pieces)


def _environment(folders: Sequence[Path], package: Path) -> _Sandbox:
    def load(wanted: str) -> tuple[str, str, None] | None:
        path = _find(wanted, folders, package)
        text = _read(path, wanted) if path else None
        return None if text is None else (text, str(path), None)

    return _Sandbox(
        loader=FunctionLoader(load),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def place(error: BaseException, fallback: str) -> str:
    """Where a template failed: "file:line", or `fallback` if the line is unknown."""
    if isinstance(error, TemplateSyntaxError):
        return f"{error.filename or fallback}:{error.lineno}"
    if isinstance(error, InvalidInput):
        return error.where or fallback
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.endswith((".md", ".md.j2"))]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else fallback


class _Sandbox(ImmutableSandboxedEnvironment):
    """The sandbox without `*` and `**`, with which one line of a template can take all memory or time."""

    intercepted_binops = frozenset(("*", "**"))

    def call_binop(self, context: object, operator: str, left: object, right: object) -> object:  # noqa: ARG002
        raise SecurityError(f"a prompt has no {operator}")


def _find(name: str, folders: Sequence[Path], package: Path) -> Path | None:
    if name.startswith(OWN):
        return own_template(name.removeprefix(OWN), folders)
    if "/" in name or "\\" in name:
        return None
    is_partial = name.startswith("_") and name not in RESERVED
    places = (*folders, package) if is_partial else (package,)
    return next((folder / name for folder in places if (folder / name).exists()), None)


def _read(path: Path, name: str) -> str | None:
    """A template's text; None if there is no file, InvalidInput if it cannot be a template."""
    if path.is_symlink():
        raise InvalidInput("is not a regular file", where=str(path))
    data = read_input(path, MAX_BYTES)
    if data is None:
        return None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"is not UTF-8 (byte {error.start})", where=str(path)) from None
    if name.startswith(OWN) and len(text.strip()) < MIN_CHARS:
        raise InvalidInput(f"has fewer than {MIN_CHARS} characters", where=str(path))
    return text
