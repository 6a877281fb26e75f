"""The os command for running engines (decision B05)."""
