"""What papers claim, as statements that can fail: each claim with its card and a false twin."""
