"""An agent's runs: attempts at a story, steps that write a document, and what a dead run left."""
