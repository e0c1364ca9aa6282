"""Secrets by their shape: fourteen kinds and more are found, what only looks like one is not, and none is shown."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import time
import uuid
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralphy.secrets.known_values import clear_json, is_secret_name, values_of, without_values
from ralphy.secrets.patterns import find, mark_of, redact

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def noise(length: int, letters: str = LETTERS, seed: int = 7) -> str:
    """Letters as a generator of keys makes them; put together here, so that this file holds no key."""
    return "".join(random.Random(f"{seed}{length}{letters}").choices(letters, k=length))


UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
HEX = "0123456789abcdef"
PLANTED = {
    "an Anthropic key": "sk-" + "ant-api03-" + noise(80),
    "an OpenAI key": "sk-" + "proj-" + noise(60),
    "a GitHub token": "gh" + "p_" + noise(36),
    "a GitHub fine-grained token": "github" + "_pat_" + noise(22) + "_" + noise(59),
    "a GitLab token": "gl" + "pat-" + noise(20),
    "an AWS access key": "AK" + "IA" + noise(16, UPPER),
    "a Stripe key": "sk" + "_live_" + noise(24),
    "a Slack token": "xo" + "xb-" + noise(12, "123456789") + "-" + noise(24),
    "a Slack webhook": "hooks.sl" + f"ack.com/services/T{noise(9, UPPER)}/B{noise(9, UPPER)}/{noise(24)}",
    "a Discord webhook": "discord" + f".com/api/webhooks/{noise(18, '123456789')}/{noise(68)}",
    "an npm token": "np" + "m_" + noise(36),
    "a PyPI token": "py" + "pi-AgE" + noise(80),
    "a Google key": "AI" + "za" + noise(35),
    "a Google client secret": "GOC" + "SPX-" + noise(28),
    "a SendGrid key": "S" + f"G.{noise(22)}.{noise(43)}",
    "a Hugging Face token": "h" + "f_" + noise(34),
    "a DigitalOcean token": "do" + "p_v1_" + noise(64, HEX),
    "a Telegram bot token": noise(10, "123456789") + ":A" + "A" + noise(33),
    "a signed web token": "ey" + f"J{noise(30)}.ey" + f"J{noise(40)}.{noise(43)}",
    "a private key": "-----BEGIN RSA PRIV" + "ATE KEY-----\n" + noise(64) + "\n" + noise(64) + "\n",
    "a password in an address": "postgres://app:" + noise(16) + "@db.internal.acme.io/app",
}
IN_CONTEXT = {
    "an AWS secret key": ('aws_secret_access_key = "', noise(40), '"'),
    "an Azure storage key": ("AccountName=x;Account" + "Key=", noise(86) + "==", ";"),
}


@pytest.mark.fault("S3")
@pytest.mark.parametrize("kind", PLANTED)
def test_a_key_is_found_where_it_stands_and_a_text_is_rid_of_it(kind: str) -> None:
    secret = PLANTED[kind]

    (found,) = find(f"# settings\n\nKEY = '{secret}'\n".encode())
    clean = redact(f"the agent printed {secret} here".encode(), ()).decode()

    assert (found.kind, found.line) == (kind, 3)
    assert secret not in repr(found)
    assert len(found.shows) == 4
    assert secret not in clean
    assert f"[redacted: {kind}]" in clean


def test_a_key_without_a_prefix_is_known_by_its_name() -> None:
    for kind, parts in IN_CONTEXT.items():
        assert [found.kind for found in find("".join(parts).encode())] == [kind]


def harmless() -> str:
    """What projects are full of, and what is no secret."""
    digest = hashlib.sha512(b"package").digest()
    rows = [
        f'"integrity": "sha512-{base64.b64encode(digest).decode()}"',
        f"flask==3.0.0 --hash=sha256:{hashlib.sha256(b'flask').hexdigest()}",
        f"id: {uuid.UUID(int=random.Random(1).getrandbits(128))}",
        f"commit {hashlib.sha1(b'x', usedforsecurity=False).hexdigest()}",
        "export GITHUB_TOKEN=gh" + "p_" + "x" * 36,
        "aws_access_key_id = AK" + "IAIOSFODNN7EXAMPLE",
        "ANTHROPIC_API_KEY=sk-" + "ant-your-key-goes-here-please-0000",
        "postgres://postgres:postgres@localhost:5432/test",
        "postgres://user:password@example.com/db",
        "https://user:${PASSWORD}@registry.acme.io/",
        "redis://:@cache:6379/0",
        "-----BEGIN PRIV" + "ATE KEY-----\n...\n-----END",
        "Bearer ey" + "JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.ey" + "JzdWIiOiIxMjM0NTY3ODkwIn0."
        + "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
        'placeholder="sk_live_..."',
        "const npm_config_registry = 'https://registry.npmjs.org'",
        "data:image/png;base64," + base64.b64encode(bytes(range(256))).decode(),
        "task-" + noise(60),
        "the password is checked against the hash of the token",
    ]  # fmt: skip
    return "\n".join(rows)


def test_what_only_looks_like_a_key_is_none() -> None:
    assert list(find(harmless().encode())) == []


ENVIRONMENT = {
    "DEPLOY_TOKEN": "Zq9-" + noise(20),
    "SERVICE_PASSWORD": "correct horse 7 battery",
    "AWS_SECRET_ACCESS_KEY": noise(40),
    "MY_KEY": "k-" + noise(10),
    "TOKEN_FILE": "/run/secrets/token",
    "PASSWORD_MODE": "disabled",
    "SECRET_LEVEL": "12345678",
    "SSH_KEY": "short",
    "HOME": "/home/somebody-with-a-long-name",
}


def test_values_of_variables_with_the_name_of_a_secret_are_found_and_taken_out() -> None:
    values = values_of(ENVIRONMENT)
    text = f"x = 1\npassword = {ENVIRONMENT['SERVICE_PASSWORD']}\n".encode()

    (found,) = find(text, values)

    assert {name for name, _ in values} == {"DEPLOY_TOKEN", "SERVICE_PASSWORD", "AWS_SECRET_ACCESS_KEY", "MY_KEY"}
    assert (found.kind, found.line) == ("the value of SERVICE_PASSWORD", 2)
    assert without_values(text, values) == b"x = 1\npassword = [redacted SERVICE_PASSWORD]\n"
    no_text = values_of({"\udcff_TOKEN": "hunter2-hunter2"})
    assert without_values(b"a hunter2-hunter2 b", no_text) == b"a [redacted ?_TOKEN] b"


NAMED = ["GH_TOKEN", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "SSH_PRIVATE_KEY", "STRIPE_KEY", "DB_PASSWD",
         "DB_PASS", "MYSQL_PWD", "SSHPASS", "GPG_PASSPHRASE", "npm_config_apikey", "API_KEYS", "GITHUB_PAT",
         "ANTHROPIC_CUSTOM_HEADERS",
         "GOOGLE_APPLICATION_CREDENTIALS"]  # fmt: skip
ORDINARY = ["PATH", "PWD", "OLDPWD", "HOME", "KEYBOARD", "SSH_ASKPASS", "MONKEY", "BYPASS", "COMPASS", "DATABASE_URL",
            "GIT_CONFIG_KEY_0", "TOKENIZERS_PARALLELISM", "PATTERN", "DISPLAY"]  # fmt: skip


def test_which_names_are_those_of_secrets() -> None:
    assert [name for name in [*NAMED, *ORDINARY] if is_secret_name(name)] == NAMED


TOKEN = "Zq9/" + noise(10) + '+"=\\' + noise(10) + "\n" + noise(5)
SPELLED = {
    "as it is": TOKEN,
    "as JSON": json.dumps(TOKEN)[1:-1],
    "as JSON with escaped slashes": json.dumps(TOKEN)[1:-1].replace("/", "\\/"),
    "as JSON for a page": json.dumps(TOKEN)[1:-1].replace("/", "\\u002f").replace("+", "\\u002B"),
    "as JSON, each character": "".join(f"\\u{ord(c):04x}" for c in TOKEN),
    "as JSON in JSON": json.dumps(json.dumps({"k": TOKEN}))[1:-1],
    "in an address": quote(TOKEN, safe=""),
    "in a path": quote(TOKEN),
    "in lower case": re.sub("%..", lambda found: found[0].lower(), quote(TOKEN, safe="")),
    "in a form": urlencode({"k": TOKEN + " "}),
    "some of it": quote(TOKEN, safe="/+").replace("Z", "%5A"),
    "each byte": "".join(f"%{byte:02X}" for byte in TOKEN.encode()),
}


@pytest.mark.parametrize("how", SPELLED)
def test_a_value_is_found_and_taken_out_however_it_is_written(how: str) -> None:
    values = values_of({"DEPLOY_TOKEN": TOKEN})
    data = f"x = 1\nurl = <{SPELLED[how]}>\n".encode()

    clean = without_values(data, values).decode()

    assert re.fullmatch(r"x = 1\nurl = <.*\[redacted DEPLOY_TOKEN(, percent)?\].*>\n", clean)
    assert not any(part in clean for part in (TOKEN[5:12], TOKEN[-4:]))
    assert [found.kind for found in find(data, values)] == ["the value of DEPLOY_TOKEN"]


@pytest.mark.parametrize("user", ["", "u", "me", "you", "longer"])
def test_base64_of_a_value_and_of_what_stands_around_it_is_taken_out(user: str) -> None:
    values = values_of({"DEPLOY_TOKEN": TOKEN})
    whole = f"{user}:{TOKEN}:and more"
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        clean = without_values(encode(whole.encode()), values).decode()

        assert "[redacted DEPLOY_TOKEN, base64]" in clean
        left = clean.replace("[redacted DEPLOY_TOKEN, base64]", "")
        assert len(left) <= len(encode(whole.encode())) - len(TOKEN) * 8 // 6 + 2


def test_a_line_of_json_stays_one_where_a_value_looks_like_a_part_of_it() -> None:
    values = values_of({"A_TOKEN": "nine-lives-9", "B_TOKEN": "ends with 1 \\", "C_TOKEN": "123456789012"})
    line = json.dumps({"a": "\nine-lives-9", "b": 'ends with 1 \\"', "c": 123456789012, "d": "ok"}).encode()

    clean = json.loads(clear_json(line, lambda data: without_values(data, values)))

    assert clean["d"] == "ok"
    assert clean["b"].startswith("[redacted B_TOKEN]")
    assert clean["c"] == "[redacted C_TOKEN]"


def test_names_of_fields_stay_and_a_value_is_taken_out_of_all_other_names() -> None:
    values = values_of({"A_TOKEN": "total_cost_usd", "B_TOKEN": "Zq9-abc/def-7"})
    entry = {"total_cost_usd": 1, "Zq9-abc/def-7": 2, "x": {PLANTED["a Stripe key"]: 4}, "y": ["total_cost_usd"]}
    line = json.dumps(entry).replace("c/d", "c\\/d").encode()

    clean = json.loads(clear_json(line, lambda data: redact(data, values)))

    assert clean == {"total_cost_usd": 1, "[redacted B_TOKEN]": 2, "x": {"[redacted: a Stripe key]": 4},
                     "y": ["[redacted A_TOKEN]"]}  # fmt: skip


@pytest.mark.fault("A11")
@pytest.mark.parametrize("depth", [250, 300, 600, 1000, 5000])
def test_a_value_is_taken_out_however_deep_it_is_nested(depth: int) -> None:
    values = values_of({"A_TOKEN": "Zq9-abc/def-7"})
    line = b'{"k":' * depth + b'"Zq9-abc/def-7"' + b"}" * depth

    clean = clear_json(line, lambda data: without_values(data, values))

    assert clean == line.replace(b"Zq9-abc/def-7", b"[redacted A_TOKEN]")


TEXTS = st.characters(exclude_categories=["Cs"])


@given(st.text(TEXTS, min_size=8, max_size=40), st.text(TEXTS), st.text(TEXTS), st.booleans())
def test_json_stays_json_and_loses_the_value(token: str, before: str, behind: str, to_ascii: bool) -> None:
    values = [("A_TOKEN", token.encode())]
    line = json.dumps({"k": before + token + behind}, ensure_ascii=to_ascii).encode()

    clean = json.loads(clear_json(line, lambda data: without_values(data, values)))

    assert clean.keys() == {"k"}
    assert token not in clean["k"]


def test_a_fingerprint_is_that_of_the_value_alone_which_is_found_once() -> None:
    stripe, slack = PLANTED["a Stripe key"], PLANTED["a Slack token"]
    here, there = (next(find(text.encode())) for text in (f"a {stripe}", f"\n\nb='{stripe}'"))
    assert here.mark == there.mark == mark_of(stripe.encode())
    assert re.fullmatch(r"[0-9a-f]{16}", here.mark)

    found = list(find(f"{stripe}\n{slack}\n{stripe}\n".encode()))
    assert [(one.kind, one.line) for one in found] == [("a Stripe key", 1), ("a Slack token", 2)]
    assert len({one.mark for one in found}) == 2


def test_a_megabyte_is_looked_through_in_no_time() -> None:
    line = f"    result = compute(value, 17) + aws.client('sk') - {noise(20)} # see https://acme.io/x\n"
    data = (line * (1024 * 1024 // len(line))).encode()
    times = []
    for _ in range(5):
        began = time.process_time()
        assert list(find(data, values_of(ENVIRONMENT))) == []
        times.append(time.process_time() - began)

    assert min(times) < 0.25, f"{min(times) * 1000:.0f} ms of processor time a megabyte"
