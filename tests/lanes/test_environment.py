"""Variables that lead into the checkout lead into the lane."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralphy.lanes.environment import rewritten

ROOT, TREE = Path("/home/me/shop"), Path("/home/me/.cache/ralphy/lanes/shop-1/1/tree")


@pytest.mark.parametrize(("value", "expected"), [
    ("/home/me/shop", "TREE"),
    ("/home/me/shop/.venv/bin:/usr/bin:/home/me/shop", "TREE/.venv/bin:/usr/bin:TREE"),
    ("/home/me/shop-old/bin:/home/me/shop.bak", "/home/me/shop-old/bin:/home/me/shop.bak"),
    ("/mnt/home/me/shop/x", "/mnt/home/me/shop/x"),
    ("sqlite:////home/me/shop/db.sqlite3", "sqlite:///TREE/db.sqlite3"),
    ("file:///home/me/shop/a.json", "file://TREE/a.json"),
    ("-I/home/me/shop/include -O2 --root=/home/me/shop", "-ITREE/include -O2 --root=TREE"),
    ('{"a": "/home/me/shop/x"}', '{"a": "TREE/x"}'),
    ("nothing of it", "nothing of it"),
])  # fmt: skip
def test_a_value_that_names_a_path_in_the_checkout_names_the_one_in_the_lane(value: str, expected: str) -> None:
    assert rewritten({"ANY": value}, ROOT, TREE) == {"ANY": expected.replace("TREE", str(TREE))}


def test_a_checkout_reached_through_a_link_is_the_checkout(tmp_path: Path) -> None:
    root, tree, link = tmp_path / "repo", tmp_path / "tree", tmp_path / "link"
    (root / ".venv" / "bin").mkdir(parents=True)
    tree.mkdir()
    link.symlink_to(root)
    env = {"PATH": f"{link}/.venv/bin:/usr/bin::relative", "VIRTUAL_ENV": f"{link}/gone", "OTHER": f"{link}/x"}
    assert rewritten(env, root, tree) == {
        "PATH": f"{tree}/.venv/bin:/usr/bin::relative", "VIRTUAL_ENV": f"{tree}/gone", "OTHER": f"{tree}/x",
    }  # fmt: skip
