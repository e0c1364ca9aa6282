"""Programs: how they are found, started, limited, watched and ended with all their descendants."""
