kubectl create configmap answers --from-literal=why=NodeResourcesFit
kubectl delete pod report
kubectl run report --image=registry.example/app
