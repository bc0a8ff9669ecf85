"""Record writers and partitioners: from elements to subpartitions."""
