"""What a pair of models must do, computed from its rows: exact tables, truncated tables, sampled trees."""
