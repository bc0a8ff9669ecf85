"""Lessons: a problem, predictions that a run answers, and an exercise that laws and expectations grade."""
