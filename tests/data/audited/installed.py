"""Functions of the installed transformers, as they are."""

from transformers.generation import utils

speculative_sampling = utils._speculative_sampling
