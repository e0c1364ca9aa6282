"""What the steps are called in the journal, in prd.json and on the command line."""

from __future__ import annotations

CLARIFY, SPEC, ACCEPTANCE = "clarify", "spec", "acceptance"
STORY, SPLIT, QA, PR = "story", "split", "qa", "pr"
