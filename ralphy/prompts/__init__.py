"""What an agent is told: templates, the documents in them, and their length."""
