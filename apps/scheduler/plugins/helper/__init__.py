"""Computations that several plugins share; plugins do not import each other."""
