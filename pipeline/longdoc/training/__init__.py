"""Fine-tuning through whole documents, and measuring what came of it."""
