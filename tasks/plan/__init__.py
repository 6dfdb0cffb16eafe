"""What a run would do: amounts told by the steps' own settings, times by a short trial on this machine."""
