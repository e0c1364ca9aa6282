"""Stand-ins for the outside world, on loopback alone: the forge's API and the model provider's API."""
