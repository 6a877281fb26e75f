"""The demo engine, run as the service runs it."""
