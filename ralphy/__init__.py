"""Ralphy: from PRD.md to a pull request, one verified commit per user story."""

__version__ = "0.1.0"
