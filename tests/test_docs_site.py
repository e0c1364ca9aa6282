"""The site of the documents: its navigation has every page, and links that lead out of docs/ are turned."""

from __future__ import annotations

import re
from pathlib import Path

from docs.site_pages import PAGES, rewritten

ROOT = Path(__file__).parents[1]


def test_the_navigation_has_every_page_once() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    listed = re.findall(r"([\w./-]+\.md)$", nav, re.M)
    docs = (path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md"))
    assert sorted(listed) == sorted([*docs, *(f"project/{name}" for name in PAGES)])


def test_a_link_out_of_the_documents_leads_to_a_page_of_the_site_or_becomes_text() -> None:
    assert (
        rewritten("[a](../../CONTRIBUTING.md#how-to-add)", "howto/x.md") == "[a](../project/CONTRIBUTING.md#how-to-add)"
    )
    assert (
        rewritten("[a](../gates.md) [b](#b) [c](https://c.org)", "howto/x.md")
        == "[a](../gates.md) [b](#b) [c](https://c.org)"
    )
    assert rewritten("[a](docs/gates.md#x)", "project/README.md") == "[a](../gates.md#x)"
    assert rewritten("[tested](../tests/test_docs.py)", "faults.md") == "tested"
    assert rewritten("![a\nnight](docs/pictures/live.svg)", "project/README.md") == "![a\nnight](../pictures/live.svg)"
