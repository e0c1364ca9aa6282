"""Ralphy's own records: the journal, held features, kept streams and the cache of `ralphy status`."""
