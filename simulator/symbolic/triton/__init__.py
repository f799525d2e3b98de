"""Triton kernels, in Triton's own interpreter."""
