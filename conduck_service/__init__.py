"""conduck-service: the piece between the Conduck app and an AI agent."""

__version__ = "0.1.0"
