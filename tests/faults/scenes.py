"""What the agents of a chaotic night do: honest work, trouble, and every way of getting through with less.

A scene is a row: its name, the act of the rehearsal agent, and how often it is drawn. What must never land holds the
word CHEAT or BROKEN. Agents work in lanes: whatever they do to Git or to the feature's documents, the checkout shows
nothing of it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from tests.engine.building import breaks, reports, works

FOLDER = "docs/features/login"
Act = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Scene:
    """One act, and what it does to the world."""

    name: str
    act: Act
    weight: int = 4


def sly(**more: Any) -> Act:
    """Green checks over something that must be refused."""
    return {"write": {"src/{{slug}}.py": "CHEAT = {{attempt}}\n"}, **more}


def runs(*commands: str, **more: Any) -> Act:
    """Honest work, and then these commands."""
    return works(run=[["sh", "-c", command] for command in commands], **more)


UNKNOWN_LINES = [
    '{"type":"telepathy","of":{"the":["machine"]}}',
    '{"type":"assistant","message":{"content":[{"type":"hologram","depth":3}]}}',
    '{"type":"system","subtype":"brand_new","n":1e300}',
]

GARBAGE = [
    "\0\0\0", '{"type":"assistant","message":{"conte', "}{", "", "null", '["not","an","object"]',
    '{"type":"assistant","message":null}', "Segmentation fault (this is plain text)\r",
]  # fmt: skip
ORPHAN = 'trap "" TERM; sleep 600 < /dev/null > /dev/null 2>&1 &'
GIT_DIR = "$(git rev-parse --git-dir)"
BY_PLUMBING = "git update-ref HEAD $(git commit-tree -p HEAD -m 'wip: by plumbing' $(git add src; git write-tree))"

TROUBLE = (
    Scene("red", breaks(), 10),
    Scene("nothing", {"say": "All done."}, 6),
    Scene("held_back", sly(exit_signal=False)),
    Scene("asks", sly(question="Which colour shall it be?"), 3),
    Scene("crash", works(crash=3)),
    Scene("segfault", works(kill="SIGSEGV")),
    Scene("hang", works(hang=True), 2),
    Scene("silent", {"silent_hang": True}, 2),
    Scene("stays", works(no_exit=True), 1),
    Scene("limit", works(limit={"resets_in_s": 2}), 2),
    Scene("refused_login", {"error": "auth"}, 2),
    Scene("max_turns", works(error="max_turns"), 2),
    Scene("too_long", {"error": "prompt_too_long"}, 1),
    Scene("garbage", works(raw=GARBAGE)),
    Scene("unknown_lines", works(raw=UNKNOWN_LINES)),
    Scene("flood", works(say=["x" * 4000] * 750)),
    Scene("long_line", works(say="x" * 2_000_000)),
    Scene("orphan", runs(ORPHAN)),
    Scene("orphan_and_crash", runs(ORPHAN, crash=1), 2),
    Scene("no_report", works(exit_signal=None, promise=None)),
)
GIT = (
    Scene("commits", works(commit="wip: {{story}}"), 6),
    Scene("empty_commit", {"run": [["git", "commit", "--allow-empty", "-qm", "wip: CHEAT"]]}, 2),
    Scene("resets", runs("git reset -q --hard HEAD~1"), 3),
    Scene("resets_far", runs("git reset -q --hard $(git rev-list --max-parents=0 HEAD)", commit="wip: from the start")),
    Scene("switches", runs("git switch -q -c elsewhere-$$", commit="wip: elsewhere"), 4),
    Scene("detaches", runs("git checkout -q --detach", commit="wip: on nothing")),
    Scene("stashes", runs("git stash -u -q"), 3),
    Scene("deletes_its_branch", runs("git update-ref -d HEAD"), 3),
    Scene("removes_the_index", runs(f"rm -f {GIT_DIR}/index")),
    Scene("leaves_a_lock", runs(f"touch {GIT_DIR}/index.lock")),
    Scene("leaves_a_ref_lock", runs(f"touch {GIT_DIR}/$(git symbolic-ref HEAD).lock"), 2),
    Scene("hides_by_index_bits", runs("git update-index --skip-worktree check.py", "echo '# hidden' >> check.py"), 3),
    Scene("merges", runs("git switch -qc side-$$", "git commit -qm side --allow-empty", "git switch -q -",
                         "git merge -q --no-ff -m 'wip: merge' side-$$ || true"), 2),
)  # fmt: skip
LANES = (
    Scene("fills_its_lane", runs("head -c 6000000 /dev/zero > big.bin"), 3),
    Scene("digs_deep", runs("d=.; for i in $(seq 260); do d=$d/d; done; mkdir -p $d; touch $d/f"), 2),
    Scene("shuts_its_lane", runs("mkdir shut; touch shut/a; chmod 000 shut src"), 3),
    Scene("leaves_odd_files", runs("mkfifo pipe; ln -s /dev/zero endless"), 3),
    Scene("removes_its_git", runs("rm -rf .git"), 3),
    Scene("empties_its_lane", works(run=[["sh", "-c", "rm -rf ./* ./.[!.]*"]]), 3),
    Scene("writes_on", runs("(while test -d src; do echo x >> src/late.py; sleep 0.01; done) > /dev/null 2>&1 &"), 3),
)
STATE = (
    Scene("moves_main", runs("git update-ref refs/heads/main HEAD", commit="wip: to be moved"), 3),
    Scene("deletes_main", runs("git update-ref -d refs/heads/main"), 2),
    Scene("commits_by_plumbing", breaks(run=[["sh", "-c", BY_PLUMBING]]), 3),
    Scene("tags", runs("git tag v-evil", "git tag -a -m evil v-evil-2"), 3),
    Scene("plants_a_hook", runs(f"mkdir -p {GIT_DIR}/hooks; printf '#!/bin/sh\\nexit 1' > {GIT_DIR}/hooks/pre-commit",
                                f"chmod +x {GIT_DIR}/hooks/pre-commit"), 3),
    Scene("configures", runs("git config core.fsmonitor 'touch /tmp/ralphy-hit'", "git config user.name Evil"), 3),
    Scene("replaces", runs("git replace HEAD HEAD~1"), 2),
)  # fmt: skip
CHEATS = (
    Scene("forges_trailers", breaks(cheat={"forge_trailer": True}), 5),
    Scene("marks_passed", breaks(cheat={"mark_passed": True}), 5),
    Scene("marks_passed_and_works", works(cheat={"mark_passed": True}), 3),
    Scene("approves", works(cheat={"approve": True}), 6),
    Scene("edits_progress", works(cheat={"edit_progress": True})),
    Scene("edits_the_spec", works(cheat={"edit_spec": True})),
    Scene("breaks_prd", works(write={f"{FOLDER}/prd.json": "{]", "src/{{slug}}.py": "WORKS = 1\n"})),
    Scene("deletes_the_feature", works(delete=[FOLDER])),
    Scene("prd_becomes_a_pipe", runs(f"rm -f {FOLDER}/prd.json; mkfifo {FOLDER}/prd.json"), 2),
    Scene("prd_becomes_a_folder", runs(f"rm -f {FOLDER}/prd.json; mkdir {FOLDER}/prd.json"), 2),
    Scene("turns_checks_off", breaks(append={".ralphy/config.yaml": "\n"}, run=[
        ["sh", "-c", "echo '{\"checks\": []}' > .ralphy/config.yaml"]])),
    Scene("nested_repository", sly(run=[["git", "init", "-q", "nested"], ["sh", "-c", "echo CHEAT > nested/a"]])),
    Scene("link_out", sly(run=[["ln", "-sfn", "/etc", "src/out"]])),
    Scene("ignored_file", works(write={"needed.log": "x", "src/{{slug}}.py": "WORKS = 2\n"})),
    Scene("stop_marker", runs(f"touch {FOLDER}/STOP"), 2),
    Scene("moves_the_private_folder", runs(f"rm -rf {FOLDER}/.ralphy/runs"), 2),
)  # fmt: skip
SCENES = (*TROUBLE, *GIT, *LANES, *STATE, *CHEATS)

REVIEWS = (
    [reports()],
    [reports("fail", {"severity": "major", "title": "No limit on attempts"}), reports()],
    [{"outbox": {"QA_REPORT.md": "---\nverdict: maybe\n---\n"}}, reports()],
    [{"crash": 2}, reports()],
    [{**reports(), "write": {"src/base.py": "BROKEN = 'by the review'\n"}}, reports()],
    [{**reports(), "cheat": {"approve": True}}, reports()],
    [{**reports(), "commit": "wip: a review that commits"}],
)
SPECS = (
    [{"default": True}],
    [{"default": True}],
    [{"crash": 2}, {"default": True}],
    [{"outbox": {"SPEC.md": "# Spec\n", "stories.json": "{]"}}, {"default": True}],
    [{"default": True, "cheat": {"approve": True}}],
    [{"default": True, "commit": "wip: a specification that commits"}],
)
LAST = (works(), works(commit="wip: {{story}}"), works(learnings="- Keep it small.\n"))


def drawn(chance: random.Random, most: int = 2) -> list[Scene]:
    """None, one or two scenes that come before a story's honest work."""
    return chance.choices(SCENES, weights=[scene.weight for scene in SCENES], k=chance.randint(0, most))
