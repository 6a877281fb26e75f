"""From the text of a config file to a checked document."""
