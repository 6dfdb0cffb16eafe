"""The command line `remine`, one file per command group."""
