"""Laws about network buffers and credits."""
