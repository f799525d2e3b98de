"""How good draft trees could be if the target were known: the best of each kind, beside what the draft alone finds.

Nothing here is a draft scheme: each takes the target's rows, which are not available while drafting. The distance to
what a scheme attains is the price of not knowing them.
"""
