"""The files that `ralphy setup` writes into a repository."""
