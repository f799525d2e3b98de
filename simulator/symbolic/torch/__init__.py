"""torch, operation by operation, on tensors of which some elements are random."""
