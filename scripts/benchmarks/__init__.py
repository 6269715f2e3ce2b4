"""What `scripts/bench.py` measures: one file a suite, each with its candidates."""
