kubectl patch deployment store --type=json -p '[
  {"op": "remove", "path": "/spec/template/spec/nodeSelector"},
  {"op": "add", "path": "/spec/template/spec/affinity", "value": {"podAntiAffinity": {
    "requiredDuringSchedulingIgnoredDuringExecution": [
      {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "store"}}}]}}}]'
