"""Memory segments, buffers and buffer pools."""
