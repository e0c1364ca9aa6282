"""What the site has beyond docs/: the documents of the root as pages, and links that lead there (a hook of MkDocs)."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
_LINK = re.compile(r"\[([^\]\n]+|[^\]]+\n[^\]]+)\]\((?![a-z]+:|#)([^)\s#]*)(#[^)\s]*)?\)")


def on_files(files: Any, config: Any) -> Any:
    """The documents of the root stand in a folder `project` of the site."""
    from mkdocs.structure.files import File

    for name in PAGES:
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, f"project/{name}", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links as they are in a clone, as links of the site."""
    return rewritten(markdown, page.file.src_uri)


def rewritten(markdown: str, page: str) -> str:
    """The text of a page of the site; links to files that the site does not have become text."""
    is_of_root = page.startswith("project/")
    folder = PurePosixPath() if is_of_root else PurePosixPath("docs", page).parent
    up = "../" * page.count("/")

    def turned(found: re.Match[str]) -> str:
        text, link, anchor = found[1], found[2], found[3] or ""
        target = _joined(folder, link)
        if target in PAGES:
            return f"[{text}]({up}project/{target}{anchor})"
        if target.startswith("docs/") and (ROOT / target).is_file():
            return f"[{text}]({up}{target.removeprefix('docs/')}{anchor})"
        return text

    return _LINK.sub(turned, markdown)


def _joined(folder: PurePosixPath, link: str) -> str:
    """Where a link of a file in that folder leads, from the root of the repository."""
    parts: list[str] = list(folder.parts)
    for part in PurePosixPath(link).parts:
        if part == "..":
            parts = parts[:-1]
        else:
            parts.append(part)
    return "/".join(parts)
