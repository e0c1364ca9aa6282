"""A person's own session of Claude Code: the plugin, and the loop that its hooks run."""
