"""The benchmarks: what is measured, each figure beside the limit it must keep (`python -m bench`)."""
