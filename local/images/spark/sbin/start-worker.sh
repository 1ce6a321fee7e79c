#!/bin/bash
# Starts workers of a standalone cluster here: start-worker.sh spark://HOST:PORT [ARGUMENT...]. SPARK_WORKER_INSTANCES (1) says how many.

: "${SPARK_HOME:=$(cd "$(dirname "$0")/.." && pwd)}"
export SPARK_HOME

. "${SPARK_HOME}/sbin/name-user.sh"
. "${SPARK_HOME}/sbin/spark-config.sh"
. "${SPARK_HOME}/bin/load-spark-env.sh"

if [ $# -lt 1 ]; then
  echo "usage: start-worker.sh MASTER [ARGUMENT...]" >&2
  exit 1
fi
master=$1
shift

unset SPARK_MASTER

start() {
  local number=$1 port=()
  shift
  if [ -n "${SPARK_WORKER_PORT}" ]; then
    port=(--port $((SPARK_WORKER_PORT + number - 1)))
  fi
  "${SPARK_HOME}/sbin/spark-daemon.sh" start org.apache.spark.deploy.worker.Worker "$number" \
    --webui-port $((${SPARK_WORKER_WEBUI_PORT:-8081} + number - 1)) "${port[@]}" "$master" "$@"
}

for ((i = 1; i <= ${SPARK_WORKER_INSTANCES:-1}; i++)); do
  start "$i" "$@" || exit
done
