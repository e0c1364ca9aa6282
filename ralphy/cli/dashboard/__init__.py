"""dashboard: the running night in a terminal or a browser, and what a person says to it from there."""
