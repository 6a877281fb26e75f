"""Development code: what becomes the bundle, and of that the packages.

The bundle is this program with every library that it needs, as plain Python files. It
is the same for every Python and every machine; the package for Debian and the formula
for Homebrew both unpack it. Nothing here is in it.
"""
