"""What the pages tell people to do is done here, as they would."""
