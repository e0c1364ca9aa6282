"""ralph.sh and prompt.md: a loop that works without Ralphy, written for the stack of a repository."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from ralphy.config.values import Check
from ralphy.errors import EnvironmentProblem
from ralphy.files.atomic import replace_file
from ralphy.resources import template_root

FILES = ("ralph.sh", "prompt.md")


def ralph_files(
    *, name: str, language: str, framework: str, package_manager: str, checks: Sequence[Check]
) -> dict[str, str]:  # fmt: skip
    """File name -> text, for a project of that name and stack."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    templates = Environment(loader=FileSystemLoader(template_root() / "ralph"), undefined=StrictUndefined,
                            trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
                            autoescape=False)  # noqa: S701 - shell and Markdown  # fmt: skip
    templates.filters["sh"] = shlex.quote
    values = {"name": name, "language": language, "framework": framework, "package_manager": package_manager,
              "checks": [{"name": _line(check.name), "run": _line(check.run)} for check in checks]}  # fmt: skip
    return {file: templates.get_template(f"{file}.j2").render(values) for file in FILES}


def write_ralph_files(folder: Path, files: dict[str, str], *, force: bool = False) -> list[tuple[str, str]]:
    """Write them into the folder, with `force` over existing ones; (name, `created`, `replaced` or `kept`) for each."""
    done = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            path = folder / name
            is_there = path.exists() or path.is_symlink()
            if is_there and not force:
                done.append((name, "kept"))
                continue
            replace_file(path, text.encode())
            if name.endswith(".sh"):
                path.chmod(0o755)
            done.append((name, "replaced" if is_there else "created"))
    except OSError as error:
        raise EnvironmentProblem(f"cannot be written: {error.strerror}", where=str(folder)) from error
    return done


def _line(text: str) -> str:
    return " ".join(text.split())
