"""Say what came out: a verdict in one sentence, the tables behind it, and where to look next."""
