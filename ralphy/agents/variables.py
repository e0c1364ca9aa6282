"""Which variables of a person's environment an agent gets, and which steer Claude Code without being passed on.

An allow-list: Claude Code reads more than a thousand variables, and some of them (a retry watchdog, a number of
retries, an effort) would change what a run does and costs, unseen. `agent.env` passes further ones on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

SYSTEM = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "TMPDIR", "IS_SANDBOX",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "VIRTUAL_ENV",
)  # fmt: skip
PREFIXES = ("LC_", "XDG_", "RALPHY_")

_TIERS = ("HAIKU", "SONNET", "OPUS", "FABLE")
# What it is for -> the variables of Claude Code that are passed on.
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
PASSED = frozenset(SYSTEM).union(*CLAUDE.values())

# Set for every run, over whatever a person has set:
# - Claude Code's own memory would outlive the run, and its git instructions cost a sixth of the first request;
# - a command that goes on in the background would call the model again after its result, so that there is no
#   moment at which the work is done. Without background tasks a command past its timeout is an ordinary error.
FIXED = {
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS": "1",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
}

_STEERING = ("CLAUDE_", "ANTHROPIC_")
_ALSO_STEERING = frozenset(
    ["API_TIMEOUT_MS", "BASH_DEFAULT_TIMEOUT_MS", "BASH_MAX_TIMEOUT_MS", "BASH_MAX_OUTPUT_LENGTH",
     "MAX_THINKING_TOKENS", "DISABLE_PROMPT_CACHING", "AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE"]
)  # fmt: skip
# A session of Claude Code gives these to its own children; they say nothing about what a person wants.
_OF_A_SESSION = frozenset(
    ["CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_EFFORT",
     "CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_CODE_SSE_PORT", "CLAUDE_PROJECT_DIR",
     "CLAUDE_CODE_EXECPATH", "CLAUDE_CODE_TMPDIR", "CLAUDE_PID"]
)  # fmt: skip


def is_passed(name: str, more: Collection[str]) -> bool:
    """Whether an agent gets the variable of that name; `more` is `agent.env`."""
    return name in PASSED or name in more or name.startswith(PREFIXES)


def held_back(names: Iterable[str], more: Collection[str]) -> list[str]:
    """Of the variables that are set, those that steer Claude Code and are not passed on."""
    return sorted(
        name
        for name in names
        if (name.startswith(_STEERING) or name in _ALSO_STEERING)
        and not is_passed(name, more)
        and name not in FIXED
        and name not in _OF_A_SESSION
    )
