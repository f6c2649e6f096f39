kubectl create priorityclass important --value=1000
kubectl create -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: payments}
spec:
  priorityClassName: important
  containers: [{name: c, image: registry.example/app, resources: {requests: {cpu: "4"}}}]
END
