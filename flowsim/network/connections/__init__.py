"""What goes between a subpartition and the channel that reads it."""
