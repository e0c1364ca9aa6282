"""Notifications for a person who is away: the sender and its receivers."""
