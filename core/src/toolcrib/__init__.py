"""Give tools to LLM agents safely."""
