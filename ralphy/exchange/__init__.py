"""Stories as other tools write them: read into prd.json, and written back."""
