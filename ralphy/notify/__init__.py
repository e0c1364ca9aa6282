"""Being told: what reaches a person who is not there, and how."""
