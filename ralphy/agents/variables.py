"""Which variables of a person's environment an agent gets: an allow-list, to which `agent.env` adds."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

SYSTEM = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "TMPDIR", "IS_SANDBOX",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "VIRTUAL_ENV",
)  # fmt: skip
PREFIXES = ("LC_", "XDG_", "RALPHY_")


@dataclass(frozen=True, slots=True)
class Variables:
    """The variables of one kind of agent, beside those of the system.

    `passed` are passed on if a person has set them; `fixed` are set for every run, whatever a person has set.
    """

    passed: frozenset[str] = frozenset()
    fixed: Mapping[str, str] = field(default_factory=dict)

    def is_passed(self, name: str, more: Collection[str]) -> bool:
        """Whether an agent gets the variable of that name; `more` is `agent.env`."""
        return name in SYSTEM or name in self.passed or name in more or name.startswith(PREFIXES)
