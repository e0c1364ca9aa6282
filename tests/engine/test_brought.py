"""What the checkout has and Git ignores is in the lane of the checks, but for what the tree has itself."""

from __future__ import annotations

from pathlib import Path

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
