"""What was found by search, as plain data that is checked without one."""
