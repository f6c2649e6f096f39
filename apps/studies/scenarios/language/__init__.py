"""The language of scenarios: its types, how a file is read, and what is checked before a run."""
