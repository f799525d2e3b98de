"""How good draft trees could be if the target were known: the best of each kind, beside what the draft alone finds.

Nothing here is a scheme that runs: each takes the target's rows, which nobody has while drafting. The distance to what
a scheme attains is the price of not knowing them.
"""
