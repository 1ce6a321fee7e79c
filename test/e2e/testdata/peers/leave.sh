#!/usr/bin/env bash
# Creates an application, its status and its driver pod as another operator leaves them, and waits until the driver runs:
#
#   leave.sh MANIFEST RESOURCE NAMESPACE DRIVER
set -euo pipefail
kubectl apply -f <(sed '/^---$/,$d' "$1")
kubectl patch "$2" theirs -n "$3" --subresource=status --type=merge --patch-file <(sed -n '/^status:/,/^---$/p' "$1" | grep -v '^---$')
owner=$(kubectl get "$2" theirs -n "$3" -o 'jsonpath={.metadata.uid}')
sed "1,/^---$/d; s/OWNER/$owner/" "$1" | kubectl apply -f -
kubectl wait "pod/$4" -n "$3" --for=condition=Ready --timeout=2m
