"""Commands that set up a repository, and check whether it works."""
