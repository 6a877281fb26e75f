"""The chat ingress: two routes of the adapter contract."""
