"""Git: its commands, and its objects, refs and configuration read and written directly."""
