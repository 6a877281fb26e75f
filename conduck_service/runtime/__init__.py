"""The core: takes turns in, admits them, runs them, ends them."""
