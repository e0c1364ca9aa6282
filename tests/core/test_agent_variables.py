"""Which variables reach an agent: an allow-list, and no prefix that lets what changes the CLI through."""

from __future__ import annotations

import re
from pathlib import Path

from ralphy.agents.claude.variables import CLAUDE, FIXED, VARIABLES

SECURITY = Path(__file__).parents[2] / "docs" / "security.md"


NEEDED = ["PATH", "LC_ALL", "RALPHY_STEP", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_BASE_URL",
          "CLAUDE_CODE_USE_BEDROCK", "ANTHROPIC_DEFAULT_SONNET_MODEL",
          "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"]  # fmt: skip
CHANGING = ["CLAUDE_CODE_RETRY_WATCHDOG", "CLAUDE_CODE_MAX_RETRIES", "CLAUDE_CODE_EFFORT_LEVEL", "CLAUDE_CODE_SIMPLE",
            "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB", "ANTHROPIC_WORK_SECRET", "API_TIMEOUT_MS"]  # fmt: skip


def test_what_a_run_needs_is_passed_on_and_what_changes_it_held_back_unless_it_is_named() -> None:
    assert [name for name in NEEDED if not VARIABLES.is_passed(name, ())] == []
    for name in CHANGING:
        assert not VARIABLES.is_passed(name, ())
        assert VARIABLES.is_passed(name, (name,))


def test_the_page_on_security_has_every_name() -> None:
    text = SECURITY.read_text(encoding="utf-8")
    names = {*FIXED}.union(*CLAUDE.values())
    shown = {re.sub("_(?:HAIKU|SONNET|OPUS|FABLE)_", "_{HAIKU,SONNET,OPUS,FABLE}_", name) for name in names}
    assert sorted(name for name in shown if f"`{name}`" not in text) == []
