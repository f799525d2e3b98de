"""The best draft trees of each kind if the target's rows were known while drafting.

None of them is a draft scheme, since these rows are not known when drafting. Their block efficiency minus that of a
scheme is the gain from knowing the rows.
"""
