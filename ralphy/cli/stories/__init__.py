"""Commands that act on a feature's gates and stories."""
