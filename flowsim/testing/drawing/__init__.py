"""Draws scenarios, part by part, from Hypothesis or from a seed."""
