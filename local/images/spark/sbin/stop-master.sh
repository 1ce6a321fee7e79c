#!/bin/bash
# Stops the master that start-master.sh started.

: "${SPARK_HOME:=$(cd "$(dirname "$0")/.." && pwd)}"
export SPARK_HOME

. "${SPARK_HOME}/sbin/spark-config.sh"
. "${SPARK_HOME}/bin/load-spark-env.sh"

exec "${SPARK_HOME}/sbin/spark-daemon.sh" stop org.apache.spark.deploy.master.Master 1
