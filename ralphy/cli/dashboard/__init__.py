"""dashboard: the running night on a page in a browser, and what a person answers there."""
