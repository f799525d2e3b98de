"""Predicted against measured, cell by cell."""
