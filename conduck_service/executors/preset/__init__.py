"""How a ready-made engine is driven; the engines themselves are in ``presets``."""
