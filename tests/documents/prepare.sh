# The cluster `lab`, if there is none yet: a Deployment, a pod that does not fit, one that came
# half an hour ago, two drafts, two hours of history.
lab() {
  cat > packing.yaml <<END
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 100
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
END
  api -f -o /dev/null "$API/clusters/lab" && return
  manage.py create_cluster lab --nodes 4 --zones 2 --tie-break first-name || return
  cat > lab.yaml <<END
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: huge}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "64"}}}]}
END
  curl -s -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/yaml' \
    "$API/clusters/lab/import" --data-binary @lab.yaml
  for name in packing second; do
    jq -n --arg n $name --rawfile c packing.yaml '{configuration: $c, name: $n, activate: false}' |
      api "$API/clusters/lab/profiles" -d @-
  done
  manage.py wait lab && manage.py clock lab --set manual && manage.py clock lab --advance 5400
  api http://localhost:8000/k8s/lab/api/v1/namespaces/default/pods \
    -d '{"metadata": {"name": "late"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}'
  manage.py wait lab && manage.py clock lab --advance 1800 && manage.py wait lab
}

# The cluster `policies`, with a policy that denies and one that does what $1 says.
policies() {
  api -f -o /dev/null "$API/clusters/policies" || manage.py create_cluster policies --nodes 1 || return
  manage.py kubeconfig policies --user admin > policies.kubeconfig
  export KUBECONFIG=$PWD/policies.kubeconfig
  cat > policies.yaml <<END
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: team}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: default}}
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  validations:
  - {expression: "has(object.metadata.labels) && 'team' in object.metadata.labels", message: pods need a team}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: team-everywhere}
spec: {policyName: team, validationActions: [Deny]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: replicas}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}
  validations:
  - {expression: object.spec.replicas <= 2, message: at most 2 replicas, reason: Forbidden}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: replicas}
spec: {policyName: replicas, validationActions: [$1]}
END
  kubectl apply -f policies.yaml
}

deployment() {
  kubectl create deployment a --image=i --replicas=3
}

# Two quotas in two namespaces; `pod NAMESPACE` asks for more than is left.
quotas() {
  kubectl create namespace one
  kubectl create namespace two
  kubectl create quota team -n one --hard=requests.cpu=1
  kubectl create quota team -n two --hard=limits.memory=1Gi
  pod one web-1 750m
}

pod() {
  kubectl create -n "$1" -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: $2}
spec: {containers: [{name: app, image: i, resources: {requests: {cpu: $3}}}]}
END
}
