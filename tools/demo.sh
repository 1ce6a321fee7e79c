#!/usr/bin/env bash
# Starts the embedded Kubernetes, installs the operator there with Helm, and runs examples/spark-pi.yaml to its result.
# The cluster keeps running. A second run reuses the cluster and the images, and takes seconds. SPARKLOCAL_DIR chooses
# another cluster than the default one.
set -euo pipefail
cd "$(dirname "$0")/.."

spark_version=4.1.4
repository=sparkoperator/spark-operator
tag=demo
image=docker.io/$repository:$tag
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
export CGO_ENABLED=0

say() { printf '%4d s  %s\n' "$SECONDS" "$*"; }

# step NAME COMMAND... runs a command and keeps its output: stdout in $logs/NAME, stderr in $logs/NAME.err. If it fails,
# step prints the end of both.
step() {
  local name=$1 began=$SECONDS
  shift
  if ! "$@" >"$logs/$name" 2>"$logs/$name.err"; then
    say "$name failed: $*"
    tail -n 40 "$logs/$name.err" "$logs/$name"
    echo "$name" >>"$logs/failed"
    return 1
  fi
  say "$name: $((SECONDS - began)) s"
}

kubectl() { bin/sparklocal kubectl "$@"; }

# all PID... waits for every process, so that the output of a failure is complete, and fails if one of them failed. It
# names the failed steps again, since their output may be pages above.
all() {
  local failed=0 pid
  for pid in "$@"; do
    wait "$pid" || failed=1
  done
  if [[ -e $logs/failed ]]; then
    say "failed (output above): $(paste --serial --delimiters=' ' "$logs/failed")"
  fi
  return "$failed"
}

build() {
  mkdir -p bin
  step sparklocal go build -C local -trimpath -o ../bin/sparklocal ./cmd/sparklocal
}

# Builds everything that does not need the cluster while the cluster starts. Only the cluster's progress is printed.
prepare() {
  step helm go build -C test/e2e -trimpath -o ../../bin/helm helm.sh/helm/v4/cmd/helm &
  local helm=$!
  step operator-image bin/sparklocal image operator --tag "$image" &
  local operator=$!
  step spark-image bin/sparklocal image spark --version "$spark_version" &
  local spark=$!
  bin/sparklocal up &
  all $! "$helm" "$operator" "$spark"
}

# Installs the operator while the large Spark image is still being loaded.
install() {
  export KUBECONFIG
  KUBECONFIG=$(bin/sparklocal kubeconfig)
  step load-spark-image bin/sparklocal load "$(<"$logs/spark-image")" &
  local spark=$!
  step load-operator-image bin/sparklocal load "$(<"$logs/operator-image")"
  local running=
  if kubectl --namespace spark-operator get deployment spark-operator-controller &>"$logs/found"; then
    running=yes
  fi
  step helm-install bin/helm upgrade --install spark-operator charts/spark-operator --namespace spark-operator --create-namespace \
    --set "image.registry=docker.io,image.repository=${repository},image.tag=${tag}" --wait --timeout 2m
  if [[ -n $running ]]; then # the image has the same name, but its content may have changed
    step restart kubectl --namespace spark-operator rollout restart deployment spark-operator-controller
    step rollout kubectl --namespace spark-operator rollout status deployment spark-operator-controller --timeout 2m
  fi
  all "$spark"
}

status() { kubectl get sparkapplication.sparkoperator.k8s.io spark-pi --output jsonpath="$1"; }

# follow prints each change of the state until the application ends.
follow() {
  local last='' now state deadline=$((SECONDS + 300))
  while ((SECONDS < deadline)); do
    state=$(status '{.status.applicationState.state}')
    now="${state:-New}, executors running: $(status '{.status.executors.running}')"
    if [[ $now != "$last" ]]; then
      say "spark-pi: ${now/%: /: 0}"
      last=$now
    fi
    case $state in
      COMPLETED) return 0 ;;
      FAILED) status '{.status.applicationState.errorMessage}'; echo; return 1 ;;
    esac
    sleep 0.5
  done
  say "spark-pi did not end"
  kubectl describe sparkapplication.sparkoperator.k8s.io spark-pi
  return 1
}

run() {
  step clean kubectl delete --filename examples/spark-pi.yaml --ignore-not-found
  step apply kubectl apply --filename examples/spark-pi.yaml
  follow
  local result
  result=$(kubectl logs spark-pi-driver | grep 'Pi is roughly')
  say "$result"
}

goodbye() {
  cat <<EOF

Look around:
  export KUBECONFIG=$(bin/sparklocal kubeconfig)
  bin/sparklocal kubectl get sparkapp.sparkoperator.k8s.io,pods
  bin/sparklocal kubectl describe sparkapp.sparkoperator.k8s.io spark-pi
  bin/sparklocal kubectl apply -f examples/spark-pi-python.yaml
  go run ./cmd/sparkctl console   # the web console
  bin/helm list --namespace spark-operator
  bin/sparklocal status
Stop and remove it:
  make demo-down
On a cluster of your own, after \`make image\` and a push or load of dist/spark-operator.tar:
  helm install spark-operator charts/spark-operator --namespace spark-operator --create-namespace \\
    --set image.registry=REGISTRY,image.repository=REPOSITORY,image.tag=TAG
EOF
}

build
prepare
install
run
goodbye
