"""What every part of `experiments` uses: progress, output, digests of code."""
