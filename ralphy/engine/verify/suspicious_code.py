"""Does the story's code look made for its tests?"""

from __future__ import annotations

from ralphy.engine.verify.case import Case, Verdict
from ralphy.git.commands import files_with
from ralphy.testguard.findings import Finding, Kind, listed_names
from ralphy.testguard.substance import is_manifest, is_test
from ralphy.testguard.suspicions import Suspicion, suspicions

_MOST_CHANGED = 200  # files of a story
# Files that may document a variable of the environment.
_DOCUMENTS = (".md", ".rst", ".adoc", ".env", ".example", ".yml", ".yaml", ".toml", ".cfg", ".ini", ".json", ".sh",
         "README", "Dockerfile", "Procfile", ".envrc")  # fmt: skip


def code_is_for_people(c: Case) -> Verdict | None:
    """Nothing in the story's code is made for its tests alone. What may be honest is only noted."""
    if c.w.config.verify.suspicious_code == "off" or len(c.candidate.files) > _MOST_CHANGED:
        return None
    suspects = _suspicions(c)
    doubtful = [one.text for one in suspects if not one.is_certain]
    c.notes += [f"code that may be made for its tests: {listed_names(doubtful)}"] if doubtful else []
    return c.weigh([Finding(Kind.SUSPICIOUS, one.text) for one in suspects if one.is_certain])


def _suspicions(c: Case) -> list[Suspicion]:
    changes = [change for change in c.changes if change.new is not None and b"\0" not in change.new]
    tests = {change.path: change.new_text or "" for change in changes
             if is_test(change.path) or c.places.has(change.path)}  # fmt: skip
    code = [change for change in changes if change.path not in tests and not is_manifest(change.path)]
    return suspicions(code, tests, lambda name: _is_documented(c, name))


def _is_documented(c: Case, name: str) -> bool:
    """Does the story, or a file for people, name a variable of the environment?"""
    if name in str(c.story.raw):
        return True
    return any(path.endswith(_DOCUMENTS) and not is_test(path) for path in files_with(c.w.repository, c.tree, name))
