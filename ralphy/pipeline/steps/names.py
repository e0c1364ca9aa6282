"""What the steps are called in the journal, in prd.json and on the command line."""

from __future__ import annotations

SPEC, ACCEPTANCE, STORY, SPLIT, QA, PR = "spec", "acceptance", "story", "split", "qa", "pr"
