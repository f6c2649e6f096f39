kubectl drain node-0 --ignore-daemonsets --force
