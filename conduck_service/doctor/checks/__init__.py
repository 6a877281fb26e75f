"""What doctor looks at: one module for each area, each check a small function."""
