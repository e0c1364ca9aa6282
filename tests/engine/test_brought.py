"""What the checks have beside the tree: what the checkout has and Git ignores, and what `setup` made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ralphy.engine.lane_use.checks import run_checks
from ralphy.engine.lane_use.lane_layout import lay_out_clean
from ralphy.engine.lane_use.open_lanes import clean_lane
from ralphy.git.objects import Entry
from tests.engine.building import build, open_feature, story


def test_what_is_brought_gives_way_to_what_the_branch_has_itself(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    (project.repo / ".gitignore").write_text(".env\n")
    project.commit("chore: ignore", ".gitignore")
    (project.repo / ".env").write_text("the person's")

    with open_feature(project.repo, project.path, project.env) as w:
        plain = w.objects.tree_of("HEAD")
        tracked = w.objects.graft(plain, {".env": Entry("100644", w.objects.write_blobs({".env": b"its own"})[".env"])})
        seen = []
        for tree in (plain, tracked, plain):
            lay_out_clean(w, tree)
            seen.append((clean_lane(w).tree / ".env").read_text())

    assert seen == ["the person's", "its own", "the person's"]
    assert (project.repo / ".env").read_text() == "the person's"


def checked(w: Any, tree: str) -> list[str]:
    """What the checks say of a tree in the clean lane."""
    lay_out_clean(w, tree)
    return [result.sentence() for result in run_checks(w, "baseline", until_red=False) if not result.is_green]


def test_checks_see_the_checkouts_dependencies_where_they_are_and_cannot_write_to_them(
    tmp_path: Path, sandbox: None
) -> None:
    check = "sh -c 'grep -q mine node_modules/a && ! touch node_modules/x'"
    project = build(tmp_path, story("US-001"), checks=[{"name": "test", "run": check}])
    (project.repo / ".gitignore").write_text("node_modules\n")
    project.commit("chore: ignore", ".gitignore")
    (project.repo / "node_modules").mkdir()
    (project.repo / "node_modules" / "a").write_text("mine")

    with open_feature(project.repo, project.path, project.env) as w:
        assert checked(w, w.objects.tree_of("HEAD")) == []
        assert not (clean_lane(w).tree / "node_modules" / "a").exists(), "they are not copied"


def test_setup_runs_once_for_the_same_manifests_and_checks_cannot_write_to_what_it_made(
    tmp_path: Path, sandbox: None
) -> None:
    setup = "sh -c 'mkdir -p vendor && echo made >> vendor/a'"
    check = "sh -c 'grep -q made vendor/a && ! touch vendor/x'"
    project = build(tmp_path, story("US-001"), checks=[{"name": "test", "run": check}], setup=setup)
    (project.repo / ".gitignore").write_text("vendor\n")
    project.commit("chore: ignore", ".gitignore")

    with open_feature(project.repo, project.path, project.env) as w:
        plain, times = w.objects.tree_of("HEAD"), []
        oids = w.objects.write_blobs({"src/new.py": b"N = 1\n", "requirements.txt": b"x\n"})
        for name in ("", "src/new.py", "requirements.txt"):
            tree = w.objects.graft(plain, {name: Entry("100644", oids[name])}) if name else plain
            assert checked(w, tree) == []
            times.append((clean_lane(w).tree / "vendor" / "a").read_text().count("made"))

    assert times == [1, 1, 2]
