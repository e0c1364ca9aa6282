"""In CI: whether this is one, what GitHub is told in its own words, and the profile that the settings `ci` make."""

from __future__ import annotations

import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ralphy.cli.options import Invocation
    from ralphy.config.values import Ci, Config

_WHERE = re.compile(r"([^:\s][^:]*):(\d+)(?::\d+)?")
_IN_TEXT = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_IN_PROPERTY = {**_IN_TEXT, ":": "%3A", ",": "%2C"}


def is_ci(env: Mapping[str, str]) -> bool:
    """Does the environment say that nobody sits at this terminal?"""
    return env.get("CI", "").lower() in ("true", "1", "yes")


def is_github(env: Mapping[str, str]) -> bool:
    return env.get("GITHUB_ACTIONS") == "true"


def annotation(level: str, text: str, where: str = "", title: str = "") -> str:
    """A line that GitHub shows beside the file; `where` is a path, or path:line."""
    match = _WHERE.fullmatch(where)
    named = {"file": match[1] if match else where, "line": match[2] if match else "", "title": title}
    properties = ",".join(f"{name}={_escaped(value, _IN_PROPERTY)}" for name, value in named.items() if value)
    return f"::{level}{' ' if properties else ''}{properties}::{_escaped(text, _IN_TEXT)}"


def _escaped(text: str, signs: Mapping[str, str]) -> str:
    return "".join(signs.get(sign, sign) for sign in text)


def use_profile(call: Invocation, *, asked_for: bool, now: float) -> Ci | None:
    """Put the profile in force if it is `asked_for`, or if this is CI and the settings have a section `ci`.

    What the command line says stays. Gives the profile, or None where it is not used.
    """
    from ralphy.config.load import load

    settings = load(call.repository().root, None, env=os.environ, flags=call.flags)
    is_set = any(name.startswith("ci.") and source != "default" for name, source in settings.sources.items())
    if not asked_for and not (is_set and is_ci(os.environ)):
        return None
    profile = settings.config.ci
    call.flags = {**flags_of(settings.config), **call.flags}
    call.deadline = now + profile.max_total_time
    _commit_as(profile.author)
    call.look_again()  # Git's environment is another one now
    return profile


def _commit_as(author: str) -> None:
    """Have Git in this process commit as `Name <address>`; "" leaves it as it is configured."""
    name, _, address = author.removesuffix(">").partition(" <")
    os.environ.update({f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
                       for what, value in (("NAME", name), ("EMAIL", address)) if author})  # fmt: skip


def flags_of(config: Config) -> dict[str, object]:
    """The settings that the profile stands for. Limits only become lower, labels and reviewers only more."""
    ci, limits = config.ci, config.limits
    flags: dict[str, object] = {
        "limits.max_iterations": min(limits.max_iterations, ci.max_tasks),
        "timeouts.agent": min(config.timeouts.agent, ci.max_healing_time),
        "pr.labels": list(dict.fromkeys([*config.pr.labels, *ci.labels])),
        "pr.reviewers": list(dict.fromkeys([*config.pr.reviewers, *ci.reviewers])),
    }
    if ci.branch_prefix:
        flags["git.branch_prefix"] = ci.branch_prefix
    if ci.auto_merge:
        flags["pr.auto_merge"] = True
    if ci.auto_approve:
        flags |= {"gates.spec": "auto", "gates.qa": "auto"}
    if ci.auto_approve and not ci.answers:  # those are given first; what they leave open waits
        flags["gates.clarify"] = "auto"
    return flags
