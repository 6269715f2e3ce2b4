"""longdoc: predictions for documents that are longer than the model."""
