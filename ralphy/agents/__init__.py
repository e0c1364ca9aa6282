"""Agents as the engine knows them: one protocol, what a run of one reports, and the presets."""
