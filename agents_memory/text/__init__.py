"""Text as it is compared: its tokens and the names in it. Pure functions, the same wherever text is read."""
