"""Secrets in texts: their patterns, the known values, and the spellings that they appear in."""
