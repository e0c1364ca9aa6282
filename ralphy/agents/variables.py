"""Which variables of a person's environment an agent gets: an allow-list, to which `agent.env` adds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
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

    `passed` reach it if a person has set them; `fixed` are set for every run, over whatever a person has set. Of those
    that begin with `steering_prefixes` or are in `steering`, and are not passed on, `ralphy doctor` tells, but for
    those `of_no_interest`.
    """

    passed: frozenset[str] = frozenset()
    fixed: Mapping[str, str] = field(default_factory=dict)
    steering_prefixes: tuple[str, ...] = ()
    steering: frozenset[str] = frozenset()
    of_no_interest: frozenset[str] = frozenset()

    def is_passed(self, name: str, more: Collection[str]) -> bool:
        """Whether an agent gets the variable of that name; `more` is `agent.env`."""
        return name in SYSTEM or name in self.passed or name in more or name.startswith(PREFIXES)

    def held_back(self, names: Iterable[str], more: Collection[str]) -> list[str]:
        """Of the variables that are set, those that steer the agent's program and are not passed on."""
        return sorted(
            name
            for name in names
            if (name.startswith(self.steering_prefixes) or name in self.steering)
            and not self.is_passed(name, more)
            and name not in self.fixed
            and name not in self.of_no_interest
        )
