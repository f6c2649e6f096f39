kubectl create configmap answers --from-literal=tainted=2
kubectl label node node-3 disk=ssd
