"""The connection between a subpartition and its input channel."""
