"""The closed set of record values: guard, bytes, fingerprints, declared types, Java hashes, keys and copies (D5)."""
