"""``open-conduit pair``: the code that the app scans."""
