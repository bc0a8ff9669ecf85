"""One Spark check per law, in the order of the catalogue."""
