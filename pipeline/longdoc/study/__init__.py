"""Looking before leaping: lengths, costs, and a yardstick to beat. Reads documents, changes none."""
