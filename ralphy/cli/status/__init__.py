"""why and status: what comes next and where things stand."""
