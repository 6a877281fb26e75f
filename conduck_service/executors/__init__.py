"""What runs one turn of an engine."""
