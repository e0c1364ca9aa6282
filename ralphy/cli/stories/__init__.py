"""What a person says to a feature and its stories."""
