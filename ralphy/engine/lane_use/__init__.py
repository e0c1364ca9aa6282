"""Lanes in use: laid out and furnished, commands run in them, and the candidate taken out of them."""
