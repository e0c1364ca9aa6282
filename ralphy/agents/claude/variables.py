"""The variables of Claude Code: which of a person's it gets, and which are set for each run.

Claude Code reads more than a thousand variables, and some of them (a retry watchdog, a number of retries, an effort)
would change what a run does and costs, unnoticed.
"""

from __future__ import annotations

from ralphy.agents.variables import Variables

_TIERS = ("HAIKU", "SONNET", "OPUS", "FABLE")
# Purpose -> the variables of Claude Code that are passed on.
CLAUDE: dict[str, tuple[str, ...]] = {
    "credentials": (
        "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_API_KEY_HELPER_TTL_MS",
        "CLAUDE_CODE_CLIENT_CERT", "CLAUDE_CODE_CLIENT_KEY", "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE",
        "CLAUDE_CODE_CERT_STORE", "CLAUDE_CONFIG_DIR",
    ),
    "the address of the API": ("ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_BETAS",
                               "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS"),
    "Bedrock, Vertex, Foundry": (
        "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_SKIP_BEDROCK_AUTH", "ANTHROPIC_BEDROCK_BASE_URL",
        "ANTHROPIC_BEDROCK_SERVICE_TIER", "AWS_REGION",
        "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_SKIP_VERTEX_AUTH", "ANTHROPIC_VERTEX_BASE_URL",
        "ANTHROPIC_VERTEX_PROJECT_ID", "CLOUD_ML_REGION",
        "CLAUDE_CODE_USE_FOUNDRY", "CLAUDE_CODE_SKIP_FOUNDRY_AUTH", "ANTHROPIC_FOUNDRY_API_KEY",
        "ANTHROPIC_FOUNDRY_BASE_URL", "ANTHROPIC_FOUNDRY_RESOURCE",
    ),
    "models": (
        "ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_SMALL_FAST_MODEL_AWS_REGION",
        *(f"ANTHROPIC_DEFAULT_{tier}_MODEL" for tier in _TIERS),
        *(f"ANTHROPIC_DEFAULT_{tier}_MODEL_SUPPORTED_CAPABILITIES" for tier in _TIERS),
        "ANTHROPIC_CUSTOM_MODEL_OPTION", "CLAUDE_CODE_SUBAGENT_MODEL",
    ),
    "what is not sent or fetched": (
        "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_AUTOUPDATER",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    ),
}  # fmt: skip

# Set for every run, whatever a person has set:
# - Claude Code's own memory would outlive the run, and its git instructions cost a sixth of the first request;
# - a command that goes on in the background would call the model again after its result, so that there is no
#   moment at which the work is done. Without background tasks a command past its timeout is an ordinary error.
FIXED = {
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS": "1",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
}

VARIABLES = Variables(passed=frozenset[str]().union(*CLAUDE.values()), fixed=FIXED)
