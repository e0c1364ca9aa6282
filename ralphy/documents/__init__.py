"""The feature's documents: prd.json, markers, progress, questions and reports, read and written."""
