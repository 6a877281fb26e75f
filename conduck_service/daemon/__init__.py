"""The composition root: the one package that knows everybody."""
