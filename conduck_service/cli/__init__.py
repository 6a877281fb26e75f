"""The operator command, installed as open-conduit and conduck."""
