"""The bare loop that Ralphy is compared with: run the agent, rewrite prd.json, git add, git commit.

A script of its own: `python floor.py PRD COUNT AGENT...` in the repository to work in.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys


def main(path: str, count: str, *agent: str) -> None:
    with open(path, encoding="utf-8") as source:  # noqa: PTH123  # bare on purpose
        document = json.load(source)
    for story in document["userStories"][: int(count)]:
        run(agent, json.dumps(story))
        story["passes"] = True
        rewrite(path, document)
        subprocess.run(["git", "add", "-A"], check=True)
        subprocess.run(["git", "commit", "-q", "-m", f"feat: {story['id']} {story['title']}"], check=True)


def run(agent: tuple[str, ...], prompt: str) -> None:
    """Start the agent, give it the prompt, read its stream to the end."""
    with subprocess.Popen(agent, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        process.stdin.write(prompt.encode())
        process.stdin.close()
        for line in process.stdout:
            json.loads(line)


def rewrite(path: str, document: object) -> None:
    """Whole, durable, in the place of the old one."""
    with open(f"{path}.tmp", "w", encoding="utf-8") as out:  # noqa: PTH123
        json.dump(document, out, indent=2)
        out.flush()
        os.fsync(out.fileno())
    os.replace(f"{path}.tmp", path)  # noqa: PTH105


if __name__ == "__main__":
    main(*sys.argv[1:])
