"""The controllers of a mock cluster. docs/controllers.md describes each of them.

The engine of the loop runs them through `manager`; `registry` lists them.
"""
