"""The best draft trees of each kind if the target's rows were known while drafting.

None of them is a draft scheme, since these rows are not available then. The difference to the block efficiency of a
scheme is what knowing them would bring.
"""
