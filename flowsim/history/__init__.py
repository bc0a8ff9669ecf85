"""What the facts of a recording mean: one model per thing that changes during a run, in numbers and ids, without words."""
