"""Verifiers of public projects, audited with adapters of ours, and what the audits found."""
