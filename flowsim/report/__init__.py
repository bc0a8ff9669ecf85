"""Studies: one scenario run under every combination of some values, and what the recordings say of each."""
