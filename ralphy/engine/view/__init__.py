"""What there is to see: the snapshot that decisions are made from, and what people are shown of it."""
