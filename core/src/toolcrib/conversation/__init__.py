"""One opening of a conversation: what an agent loop talks to."""
