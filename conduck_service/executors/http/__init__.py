"""The executor ``http``: a model behind a server that speaks as OpenAI's API does."""
