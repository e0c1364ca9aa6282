"""How it is called: thin commands over the engine, and the one place where errors end."""
