"""Attention in C++, compiled at installation where there is a compiler: optional, and equal to torch's to rounding."""
