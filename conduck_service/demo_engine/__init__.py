"""The demo's engine: a program of its own, without AI, on the standard library.

It is run as ``python -m conduck_service.demo_engine``, as any user's engine would be,
and imports nothing of the service.
"""
