"""Any bytes in any file of a feature give a decision or an error with a message, at once, and never a traceback."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ralphy.engine.view.observe import observe
from ralphy.errors import RalphyError
from ralphy.pipeline.decide import decide
from tests.conftest import set_home
from tests.core.building import examples
from tests.engine.building import Project, build, open_feature, story
from tests.sampling import sampled

FILES = (
    "prd.json",
    "PRD.md",
    "SPEC.md",
    "QUESTIONS.md",
    "QA_REPORT.md",
    "PR.md",
    "progress.txt",
    "APPROVED",
    "REJECTED",
    "STOP",
    ".ralphy/config.yaml",
    "../../../.ralphy/config.yaml",
    "../../../.git/ralphy/journal.jsonl",
    "../../../.git/ralphy/checkouts/main/intent",
)
LARGE = {
    "deep": b"[" * 1_000_000,
    "one line": b"a" * 1_000_000,
    "lines": b"\n" * 1_000_000,
    "nothing": b"\0" * 1_000_000,
    "no text": b"\xff\xfe" * 500_000,
    "headings": b"## US-001: x\n> y\nAnswer:\n" * 40_000,
    "front matter": b"---\n" * 250_000,
    "braces": b'{"a":' * 170_000,
    "digits": b"[" + b"9" * 999_000 + b"]",
    "anchors": b"a: &a [*a, *a]\n" * 60_000,
}
pieces = st.sampled_from(
    [
        b"---\n",
        b"{",
        b"}",
        b"[",
        b'"userStories":',
        b'{"id":"US-001"}',
        b"\xef\xbb\xbf",
        b"\xff",
        b"\0",
        b"\r\n",
        b"NaN",
        b"1e999",
        b"verdict: pass\n",
        b"findings:\n",
        b"## US-001: x\n",
        b"Answer: yes\n",
        b"# Title\n",
        b"<<: *a\n",
        b"!!python",
        b"agent:\n",
        b"  command: [x]\n",
        b"\x1b[2J",
        b"\xed\xa0\x80",
        b'{"ev":"run"}\n',
        b'{"ev":"end","run":[]}\n',
        b'{"ev":"gate","gate":{},"ctime_ns":"x"}\n',
        b'{"commit":[]}',
        b'{"branch":"\\u0000"}',
        b"null",
        b"0",
    ]
)
contents = st.one_of(st.binary(max_size=200), st.lists(pieces, max_size=12).map(b"".join))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("bytes")
        set_home(folder / "home", patch)
        made = build(folder, story("US-001"), story("US-002"))
        made.write("PRD.md", "# Login\n\n## Objective\n\n- Sign in\n")
        (made.repo / ".git" / "ralphy" / "checkouts" / "main").mkdir(parents=True)
        yield made


def judged(project: Project, name: str, content: bytes) -> str:
    """The reason of the decision with these bytes in one of the feature's files, or the words of the error."""
    path = project.folder / name
    before = path.read_bytes() if path.exists() else None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    try:
        with open_feature(project.repo, project.path, project.env) as workspace:
            return decide(observe(workspace), workspace.config).reason
    except RalphyError as error:
        return str(error)
    finally:
        path.unlink() if before is None else path.write_bytes(before)


@pytest.mark.fault("I1x", "I2x", "I3x")
@given(name=st.sampled_from(FILES), content=contents)
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_in_any_file_are_a_decision_or_an_error_with_a_message(
    project: Project, name: str, content: bytes
) -> None:
    said = judged(project, name, content)

    assert said.strip()
    assert "Traceback" not in said


@pytest.mark.parametrize("name", sampled(FILES, "prd.json", "SPEC.md", ".ralphy/config.yaml"))
@pytest.mark.fault("I1x", "I2x")
def test_a_megabyte_of_anything_is_judged_within_two_seconds(project: Project, name: str) -> None:
    slow = {what: seconds for what, content in LARGE.items() if (seconds := cpu(judged, project, name, content)) > 2.0}
    assert slow == {}


def cpu(call: Callable[..., object], *words: object) -> float:
    """Seconds of this process's own work, so that a busy machine proves nothing."""
    began = time.process_time()
    call(*words)
    return time.process_time() - began
