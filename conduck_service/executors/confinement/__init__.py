"""What a confined engine may reach, and whether this machine can see to it."""
