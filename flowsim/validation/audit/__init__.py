"""The slow forms: every law judged once more, from order, channels, kinds, timestamps and fingerprints alone."""
