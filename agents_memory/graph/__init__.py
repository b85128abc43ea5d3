"""graph owns the version rule: facts, relations, entities, episodes and where they come from."""
