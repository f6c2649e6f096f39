"""HorizontalPodAutoscalers: scale workloads by the usage that the mock kubelets measure."""
