"""What happened in a scenario: expectations, figures, and how they are presented."""
