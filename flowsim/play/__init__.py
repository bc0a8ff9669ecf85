"""``flowsim play``: the learner decides which event of a job is the next, and the page shows what that does."""
