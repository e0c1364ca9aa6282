"""Programs: looking them up, starting, limiting and ending them with all their descendants."""
