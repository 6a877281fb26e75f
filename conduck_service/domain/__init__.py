"""Frozen records of what the product is about, and their state tables."""
