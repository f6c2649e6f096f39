"""The scheduling framework: extension points, statuses, cycle state, and what runs them."""
