kubectl label node node-1 node-3 disk=ssd
kubectl create -f - <<END
apiVersion: apps/v1
kind: Deployment
metadata: {name: db}
spec:
  replicas: 4
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {nodeSelector: {disk: ssd}, containers: [{name: c, image: registry.example/db}]}
END
