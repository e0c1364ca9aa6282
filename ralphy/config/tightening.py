"""Which settings guard the person, and when one value of such a setting is looser than another.

A file that a person did not write may tighten these and never loosen them. All other settings (checks, models, time
limits) are free. docs/decisions/008-settings-may-only-tighten.md says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields

from ralphy.config.values import Verify

_Looser = Callable[[object, object], bool]


def _ranked(*loosest_first: str) -> _Looser:
    def looser(value: object, floor: object) -> bool:
        return loosest_first.index(str(value)) < loosest_first.index(str(floor))

    return looser


def _adds(value: object, floor: object) -> bool:
    assert isinstance(value, tuple)
    assert isinstance(floor, tuple)
    return not set(value) <= set(floor)


def _switches_on(value: object, floor: object) -> bool:
    return bool(value) and not floor


def _differs(value: object, floor: object) -> bool:
    return bool(value) and value != floor  # no command at all is tighter than any


def _more(value: object, floor: object) -> bool:
    return _amount(value) > _amount(floor)


def _amount(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else float("inf")


# What is run as the person, or what it is given.
PROGRAMS = ("agent.command", "agent.preset", "agent.env", "setup")
# Only a value that somebody wrote down is a floor here: the default is a proposal, and a repository may propose more.
AMOUNTS = ("limits.max_cost_usd", "limits.max_cost_per_story_usd", "limits.max_cost_per_run_usd")

_RULES: Mapping[str, _Looser] = {
    "safety.level": _ranked("minimal", "moderate", "strict"),
    "safety.sandbox": _ranked("none", "auto", "bwrap"),
    "safety.secret_scan": _ranked("off", "warn", "auto", "block"),
    "safety.network": _adds,
    "safety.checks_network": _switches_on,
    "safety.ro_paths": _adds,
    "safety.writable": _adds,
    "lanes.dir": _differs,
    "lanes.bring": _adds,
    "lanes.keep": _adds,
    "lanes.probe": _ranked("off", "warn", "stop"),
    "gates.clarify": _ranked("auto", "human"),
    "gates.spec": _ranked("auto", "human"),
    "gates.qa": _ranked("auto", "human"),
    "ci.auto_approve": _switches_on,
    "ci.auto_merge": _switches_on,
    "pr.auto_merge": _switches_on,
    "git.hooks": _ranked("skip", "run"),
    "git.sign": _ranked("off", "auto"),
    **{f"verify.{one.name}": _ranked("off", "flag", "reject") for one in fields(Verify) if one.type == "str"},
    "proof.parts": _ranked("off", "on"),
    "acceptance.tests": _ranked("off", "visible", "sealed"),
    "agent.command": _differs,
    "agent.preset": _differs,
    "agent.env": _adds,
    "setup": _differs,
    "notify.desktop": _switches_on,
    "notify.command": _differs,
    "notify.webhook": _differs,
    "notify.webhook_secret_env": _differs,
    "notify.apprise": _adds,
    **dict.fromkeys(AMOUNTS, _more),
}


def is_looser(name: str, value: object, floor: object) -> bool:
    """Whether a setting guards less at `value` than at `floor`; False for a setting that guards nothing."""
    rule = _RULES.get(name)
    return rule is not None and rule(value, floor)
