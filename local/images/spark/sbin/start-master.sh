#!/bin/bash
# Starts a master of a standalone cluster here. Arguments are passed on to it. In the foreground when SPARK_NO_DAEMONIZE is set.

: "${SPARK_HOME:=$(cd "$(dirname "$0")/.." && pwd)}"
export SPARK_HOME

. "${SPARK_HOME}/sbin/name-user.sh"
. "${SPARK_HOME}/sbin/spark-config.sh"
. "${SPARK_HOME}/bin/load-spark-env.sh"

# spark-daemon.sh takes SPARK_MASTER for a machine to copy Spark from.
unset SPARK_MASTER
exec "${SPARK_HOME}/sbin/spark-daemon.sh" start org.apache.spark.deploy.master.Master 1 \
  --host "${SPARK_MASTER_HOST:-$(hostname -f 2>/dev/null || hostname)}" \
  --port "${SPARK_MASTER_PORT:-7077}" \
  --webui-port "${SPARK_MASTER_WEBUI_PORT:-8080}" \
  "$@"
