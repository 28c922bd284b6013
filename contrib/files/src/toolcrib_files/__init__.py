"""File tools for LLM agents."""
