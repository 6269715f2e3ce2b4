"""From texts to chunks of token ids, and from chunks to batches. Knows no neural network."""
