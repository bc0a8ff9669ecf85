"""From elements to subpartitions."""
