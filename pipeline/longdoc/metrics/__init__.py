"""How good answers are: arrays in, plain Python values out, ready for JSON. Tasks say which measures they have."""
