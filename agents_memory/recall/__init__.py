"""recall finds the facts that answer a question; it never writes."""
