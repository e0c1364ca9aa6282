"""prd.json on the disk: read when it changed, checked whenever it is read, written whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ralphy.documents.prd_store import PrdStore
from ralphy.errors import InvalidInput
from tests.core.building import done, prd, story


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "prd.json"


@pytest.fixture
def store(path: Path) -> PrdStore:
    return PrdStore(path, "docs/features/login/prd.json", ("main",))


def test_what_is_saved_is_read_again_and_a_persons_change_is_seen(store: PrdStore, path: Path) -> None:
    assert (store.load().stories, store.exists) == ((), False)
    data = store.save(prd(story(), mine={"x": [1, None, "é"]}))
    assert path.read_bytes() == data
    assert store.exists
    other = PrdStore(path, "prd.json")
    assert other.load().raw == prd(story(), mine={"x": [1, None, "é"]}).raw
    other.save(prd(done()))
    assert store.load().stories[0].is_completed
    path.unlink()
    assert (store.load().stories, store.exists) == ((), False)


def test_unknown_fields_and_the_order_of_fields_survive(store: PrdStore, path: Path) -> None:
    text = '{"zebra": 1, "userStories": [{"x": [], "title": "t", "id": "a"}], "$schema": "x", "a": {"b": 1.5}}'
    path.write_text(text)
    store.save(store.load())
    assert path.read_text() == json.dumps(json.loads(text), indent=2) + "\n"


def test_every_change_of_the_same_size_is_seen(store: PrdStore, path: Path) -> None:
    for n in range(100):
        path.write_text(json.dumps({"userStories": [{"id": "a", "title": f"{n:03}"}]}))
        assert store.load().stories[0].title == f"{n:03}"


@pytest.mark.parametrize(
    "text, where",
    [
        ("", ": is empty"),
        ('{\n"userStories": [\n{"id": "a", "title": "t", "priority": "high"}]}', ":3"),
        ('{"userStories": [], "userStories": []}', ":1"),
        ('{"userStories": [], "branchName": "main"}', ":1"),
    ],
)
@pytest.mark.fault("M4")
def test_what_is_not_valid_is_refused_each_time_and_left_alone(
    store: PrdStore, path: Path, text: str, where: str
) -> None:
    store.save(prd(story()))
    before = store.load()
    path.write_text(text)
    for _ in range(2):
        with pytest.raises(InvalidInput) as caught:
            store.load()
        assert f"docs/features/login/prd.json{where}" in str(caught.value)
    assert path.read_text() == text
    store.save(before)
    assert store.load() is before


def test_saving_over_a_link_leaves_what_it_leads_to(store: PrdStore, path: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("theirs")
    path.symlink_to(tmp_path / "theirs")
    store.save(prd(story()))
    assert (tmp_path / "theirs").read_text() == "theirs"
    assert not path.is_symlink()
