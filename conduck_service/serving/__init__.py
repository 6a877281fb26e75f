"""cheroot made to keep the adapter contract; imports base only."""
