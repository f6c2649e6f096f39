kubectl taint node node-0 team=ml:NoSchedule
kubectl create -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: trainer}
spec:
  nodeSelector: {kubernetes.io/hostname: node-0}
  tolerations: [{key: team, value: ml, effect: NoSchedule}]
  containers: [{name: c, image: registry.example/app}]
END
kubectl run other --image=registry.example/app
kubectl wait pod/other --for=condition=PodScheduled --timeout=60s
kubectl create configmap answers --from-literal=node=$(kubectl get pod other -o jsonpath='{.spec.nodeName}')
