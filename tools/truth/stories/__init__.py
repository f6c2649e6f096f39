"""Stories of workloads, told to the controllers of a real cluster and to ours."""
