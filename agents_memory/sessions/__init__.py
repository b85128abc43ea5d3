"""Conversations: sessions, their items in the order in which they are read, and what they have to do with facts."""
