"""What a real run's prompt says of the stories: nothing that a person wrote is lost on the way."""

from __future__ import annotations

from pathlib import Path

from tests.engine.building import build, story

FORMS = {
    "acceptanceCriteria": [
        {"id": "AC1", "description": "Passwords are hashed", "done": False},
        {"text": "A lock opens after a minute"},
        "Addresses are unique",
    ],
    "tasks": [{"title": "Write the failing test"}],
}
WORDS = ("AC1: Passwords are hashed", "A lock opens after a minute", "Addresses are unique", "Write the failing test")


def test_every_form_of_a_criterion_reaches_story_review_and_views(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001", **FORMS), path="tasks")

    assert project.loop().runs == ["US-001", "qa"]

    (told,), (reviewed,) = project.prompts("US-001"), project.prompts("qa")
    for text in (told, reviewed, project.read("TASKS.md"), project.read("stories/US-001.md")):
        assert [words for words in WORDS if words not in text] == []


def test_every_template_may_name_the_documents_and_the_stories(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001", acceptanceCriteria=["Signs in"]), limits={"max_iterations": 1})
    project.write("SPEC.md", "# Login\n\nThe whole design.\n")
    project.write(".ralphy/prompts/story.md.j2", "S {{ spec_content }} T {{ tasks_content }} Q {{ qa_report }}\n" * 3)

    project.loop()

    told = project.prompts("US-001")[0]
    assert "The whole design." in told and "US-001.1" in told and "Signs in" in told
