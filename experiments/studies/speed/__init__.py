"""How fast everything is, measured side by side in one run: `make speed`."""
