"""The scenario format as pydantic models: what may be written in a scenario file."""
