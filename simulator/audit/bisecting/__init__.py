"""Audits of functions of plain coins by bisection, for compiled code."""
