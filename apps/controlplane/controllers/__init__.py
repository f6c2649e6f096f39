"""The controllers of a mock cluster. docs/controllers.md describes each of them."""
