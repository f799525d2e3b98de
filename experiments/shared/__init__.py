"""Progress, output files and digests of code, for all of `experiments`."""
