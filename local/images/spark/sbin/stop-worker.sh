#!/bin/bash
# Stops the workers that start-worker.sh started.

: "${SPARK_HOME:=$(cd "$(dirname "$0")/.." && pwd)}"
export SPARK_HOME

. "${SPARK_HOME}/sbin/spark-config.sh"
. "${SPARK_HOME}/bin/load-spark-env.sh"

for ((i = 1; i <= ${SPARK_WORKER_INSTANCES:-1}; i++)); do
  "${SPARK_HOME}/sbin/spark-daemon.sh" stop org.apache.spark.deploy.worker.Worker "$i"
done
