"""What several commands use: options, problems, costs, rows, output, names, progress."""
