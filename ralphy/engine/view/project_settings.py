"""Are the project's settings in this checkout, or did a feature's branch take them along?

Settings belong to the project. Until they are committed on the base branch, the first feature's branch holds what
`ralphy init` wrote, and on any other branch the level of safety, the budget and the checks would be the defaults.
"""

from __future__ import annotations

import os

from ralphy.documents.prd_reader import USUAL_BASES
from ralphy.engine.workspace.checkout import Checkout
from ralphy.git import commands as git

SETTINGS = ".ralphy/config.yaml"


def branch_with_settings(checkout: Checkout, prefix: str) -> str:
    """The branch that has the settings which this checkout lacks; "" if they are here, or nowhere.

    Where HEAD's own history has them, somebody has removed them on purpose.
    """
    repository = checkout.repository
    if os.path.lexists(repository.root / SETTINGS):
        return ""
    head = git.head_of(repository)
    refs = (*(f"refs/heads/{name}" for name in USUAL_BASES), f"refs/heads/{prefix}*")
    rows = repository.text("for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", *refs).splitlines()
    for oid, _, branch in (row.partition(" ") for row in rows):
        if checkout.objects.at(checkout.objects.tree_of(oid), SETTINGS) is not None:
            return (
                "" if head and repository.text("log", "--max-count=1", "--format=%H", head, "--", SETTINGS) else branch
            )
    return ""
