"""Result partitions, their subpartitions and their readers."""
