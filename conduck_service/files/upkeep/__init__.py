"""What goes on beside the serving: the folder looked at, watched and cleared."""
