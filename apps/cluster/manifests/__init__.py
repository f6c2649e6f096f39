"""Texts with objects, as kubectl reads and writes them: files, archives, what is wrong where."""
