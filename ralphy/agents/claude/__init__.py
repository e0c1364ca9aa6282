"""The Claude Code CLI as an agent: how it is started, guarded, watched and read."""
