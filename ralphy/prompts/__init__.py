"""The prompts of agents: templates, the documents in them, and their length."""
