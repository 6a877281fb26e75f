"""Our own conformance run: everything of the contract that can be seen from outside."""
