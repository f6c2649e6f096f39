kubectl patch pod migration --type=json -p '[{"op": "remove", "path": "/spec/schedulingGates"}]'
