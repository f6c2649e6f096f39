kubectl create -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: cache, labels: {app: cache}}
spec:
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [zone-2]}]}]
  containers: [{name: c, image: registry.example/cache}]
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  affinity:
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: cache}}}
  containers: [{name: c, image: registry.example/app}]
END
