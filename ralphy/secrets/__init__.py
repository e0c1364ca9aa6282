"""Secrets in texts: their patterns, and the known values in every way that they may be written."""
