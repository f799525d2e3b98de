"""torch and Triton kernels, operation by operation, on arrays of which some elements are random."""
