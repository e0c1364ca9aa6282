"""The report as one page of HTML, without scripts and external files, light or dark as the reader's system is.

Jinja2 escapes every value: titles, failures and remarks come from agents.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ralphy.documents.report import Report
from ralphy.documents.report_text import Clock, sections_of, summary
from ralphy.resources import template_root
from ralphy.text.rehearsed import NOTE

if TYPE_CHECKING:
    from jinja2 import Template


def in_html(report: Report, clock: Clock) -> str:
    """The page; `clock` formats times."""
    return template("report.html.j2").render(
        rehearsed=NOTE, report=report, moment=clock, sections=sections_of(report, clock),
        night=summary(report.night), is_link=report.next.startswith("https://"),
    )  # fmt: skip


@cache
def template(name: str) -> Template:
    """A template of a page, whose values are escaped. Cached: compiling it takes longer than rendering."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(template_root()), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template(name)
