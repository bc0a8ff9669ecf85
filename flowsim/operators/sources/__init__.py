"""Operators that read sources, and what readers give their records to."""
