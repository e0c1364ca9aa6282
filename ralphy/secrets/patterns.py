"""Secrets in what is about to be committed, kept or sent: keys by their shape, and the values of the environment.

Nearly every key has a prefix of its own, so the rules are precise. A finding never holds the value, only its kind, its
line, its first four characters, and a fingerprint by which a person can say that it is not a secret.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ralphy.secrets.known_values import Values, spellings_in, without_values

_TRIVIAL = re.compile(rb"(?i)x{4}|example|1234567|abcdefg|your[-_]|change|placeholder|redacted|dummy|sample|(.)\1{5}")


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of key. Every match contains one of the `needles`: without them the pattern is not tried."""

    kind: str
    needles: tuple[bytes, ...]
    pattern: re.Pattern[bytes]


# Where a word begins, also behind a line break as JSON writes it.
_START = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt]))"


def _rule(kind: str, needles: str, pattern: str) -> Rule:
    if pattern.startswith(r"\b"):
        pattern = _START + pattern.removeprefix(r"\b")
    return Rule(kind, tuple(word.encode() for word in needles.split()), re.compile(pattern.encode()))


RULES: tuple[Rule, ...] = (
    _rule("an Anthropic key", "sk-ant-", r"\bsk-ant-[A-Za-z0-9_-]{24,}"),
    _rule("an OpenAI key", "sk-",
          r"\bsk-(?:(?:proj-|svcacct-|admin-)[A-Za-z0-9_-]{40,}|[A-Za-z0-9]{20}T3BlbkFJ\w{20})"),
    _rule("a GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"\bgh[pousr]_[A-Za-z0-9]{36,}"),
    _rule("a GitHub fine-grained token", "github_pat_", r"\bgithub_pat_[A-Za-z0-9_]{60,}"),
    _rule("a GitLab token", "glpat-", r"\bglpat-[A-Za-z0-9_-]{20,}"),
    _rule("an AWS access key", "AKIA ASIA", r"\b(?:AKIA|ASIA)[A-Z2-7]{16}\b"),
    _rule("an AWS secret key", "aws AWS",
          r"(?i:aws.{0,20}secret.{0,20}?['\"=:\s]+)([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"),
    _rule("a Stripe key", "_live_", r"\b[sr]k_live_[A-Za-z0-9]{20,}"),
    _rule("a Slack token", "xox", r"\bxox[abeposr]-[A-Za-z0-9-]{20,}"),
    _rule("a Slack webhook", "hooks.slack.com",
          r"hooks\.slack\.com/services/T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{20,}"),
    _rule("a Discord webhook", "/api/webhooks/", r"discord(?:app)?\.com/api/webhooks/\d{15,}/[\w-]{50,}"),
    _rule("an npm token", "npm_", r"\bnpm_[A-Za-z0-9]{36}\b"),
    _rule("a PyPI token", "pypi-", r"\bpypi-AgE[A-Za-z0-9_-]{50,}"),
    _rule("a Google key", "AIza", r"\bAIza[A-Za-z0-9_-]{35}"),
    _rule("a Google client secret", "GOCSPX-", r"\bGOCSPX-[A-Za-z0-9_-]{28}"),
    _rule("a SendGrid key", "SG.", r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    _rule("a Hugging Face token", "hf_", r"\bhf_[A-Za-z0-9]{34}\b"),
    _rule("a DigitalOcean token", "_v1_", r"\bdo[opr]_v1_[a-f0-9]{64}"),
    _rule("a Telegram bot token", ":AA", r"\b\d{8,10}:AA[A-Za-z0-9_-]{33}\b"),
    _rule("an Azure storage key", "AccountKey=", r"AccountKey=([A-Za-z0-9+/]{86}==)"),
    _rule("a signed web token", "eyJ", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}"),
    _rule("a private key", "PRIVATE KEY", r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:\s|\\n|\\r)+"
                                          r"[A-Za-z0-9+/=\s\\:,-]{100,}"),
    _rule("a password in an address", "://", r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@'\"`<>{}$]{1,64}:([^\s/'\"`<>{}$%*]{8,})@"
                                             r"(?!localhost|127\.|0\.0\.0\.0|example\.|host\b)[\w.-]+\.[\w-]+"),
)  # fmt: skip
# The token that jwt.io shows to everybody.
_KNOWN_SAMPLES = (b"SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",)


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret that was found: `line` counts from 1, `shows` are its first four characters, `mark` its fingerprint."""

    kind: str
    line: int
    shows: str
    mark: str


def mark_of(value: bytes) -> str:
    """The fingerprint of a value: enough to recognise it, nothing to guess it from."""
    return hashlib.sha256(b"ralphy:" + value).hexdigest()[:16]


def find(data: bytes, values: Values = ()) -> Iterator[Secret]:
    """The secrets in some bytes, each once."""
    seen = set()
    for kind, start, value in _matches(data, values):
        mark = mark_of(value)
        if mark not in seen:
            seen.add(mark)
            yield Secret(kind, data.count(b"\n", 0, start) + 1, value[:4].decode("ascii", "replace"), mark)


def _matches(data: bytes, values: Values) -> Iterator[tuple[str, int, bytes]]:
    """(kind, offset, the secret itself)."""
    for name, spelled, _ in spellings_in(data, values):
        yield f"the value of {name}", data.find(spelled), spelled
    for rule in RULES:
        if any(needle in data for needle in rule.needles):
            for match in rule.pattern.finditer(data):
                group = rule.pattern.groups
                if not _is_sample(match.group(group)):
                    yield rule.kind, match.start(group), match.group(group)


def _is_sample(value: bytes) -> bool:
    """Is it a sample, as in documentation?"""
    return bool(_TRIVIAL.search(value)) or len(set(value)) < 8 or any(sample in value for sample in _KNOWN_SAMPLES)


def redact(data: bytes, values: Values) -> bytes:
    """The bytes with the environment's values and all keys replaced by `[redacted: KIND]`.

    Different keys of one kind are numbered, so that they stay distinct.
    """
    data = without_values(data, values)
    seen: dict[str, set[bytes]] = {}
    for kind, _, value in list(_matches(data, ())):
        known = seen.setdefault(kind, set())
        known.add(value)
        number = f" ({len(known)})" if len(known) > 1 else ""
        data = data.replace(value, f"[redacted: {kind}{number}]".encode())
    return data
