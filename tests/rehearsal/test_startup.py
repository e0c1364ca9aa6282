"""The agent starts fast: nothing heavy is loaded for an ordinary run."""

from __future__ import annotations

import subprocess
import sys

from tests.rehearsal.conftest import FLAGS, PATIENCE_S, ROOT, Rehearse

HEAVY = (
    "pathlib yaml click jsonschema git rich jinja2 orjson argparse asyncio dataclasses inspect subprocess uuid logging"
)
PROBE = (
    "import sys; from ralphy.rehearsal.agent import play; code = play(sys.argv[1:]);"
    "sys.stderr.write(' '.join(sorted(set(m.split('.')[0] for m in sys.modules)))); sys.exit(code)"
)


def loaded(rehearse: Rehearse, act: dict[str, object] | None) -> set[str]:
    ended = subprocess.run(
        [sys.executable, "-c", PROBE, *FLAGS],
        cwd=rehearse.cwd,
        env={**rehearse.environ(act), "PYTHONPATH": str(ROOT)},
        input=b"Do it.",
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert b'"type":"result"' in ended.stdout, ended.stderr
    return set(ended.stderr.decode().split())


def test_a_story_of_the_default_scenario_loads_nothing_heavy(rehearse: Rehearse) -> None:
    assert loaded(rehearse, None) & set(HEAVY.split()) == set()


def test_a_json_scenario_loads_nothing_heavy(rehearse: Rehearse) -> None:
    assert loaded(rehearse, {"write": {"a": "b"}, "limit": {}}) & set(HEAVY.split()) == set()


def test_only_a_yaml_scenario_loads_yaml(rehearse: Rehearse) -> None:
    (rehearse.cwd / ".ralphy").mkdir()
    (rehearse.cwd / ".ralphy" / "rehearsal.yaml").write_text("stories: {'*': [{say: hello}]}\n")
    assert "yaml" in loaded(rehearse, None)
