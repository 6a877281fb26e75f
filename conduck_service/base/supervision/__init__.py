"""Process trees: started, watched, and ended with every descendant.

`processes.py` beside this package is the door; nothing else is used from outside.
"""
