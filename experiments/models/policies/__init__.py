"""Baseline policies: rules, learned ones and the best, all fitted to exact tables and valued exactly."""
