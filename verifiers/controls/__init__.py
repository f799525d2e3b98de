"""What must be refuted: negative controls with one known bug each, and rules that their authors call lossy."""
