"""The sender's half of a connection: who may send, and when."""
