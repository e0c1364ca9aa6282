"""The life of a feature, as its prd.json tells it."""

from __future__ import annotations

import pytest

from ralphy.pipeline.life import is_rejected
from ralphy.pipeline.model import Prd


@pytest.mark.parametrize(
    ("last", "digest", "stands"),
    [
        ({"verdict": "rejected"}, "A", True),
        ({"verdict": "rejected"}, "B", False),  # another content of the document
        ({"verdict": "rejected", "answered": True}, "A", False),  # redone: the same bytes wait for a person
        ({"verdict": "revise"}, "A", False),
        ({"verdict": "approved"}, "A", False),
    ],
)
def test_a_rejection_stands_for_one_content_until_it_is_answered(
    last: dict[str, object], digest: str, stands: bool
) -> None:
    approvals = [{"gate": "spec", "digest": "A", **last}]
    prd = Prd.of({"userStories": [], "workflow": {"approvals": approvals}})
    assert is_rejected(prd, {"spec": digest}.__getitem__) is stands
