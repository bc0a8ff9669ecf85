"""How large buffers should be."""
