"""Which stack a repository is built with, read from its files."""
