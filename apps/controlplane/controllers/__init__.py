"""The controllers: what makes a mock cluster live. docs/controllers.md tells what each does."""
