#!/bin/bash
# Starts a Spark Connect server here. Arguments are those of spark-submit. In the foreground when SPARK_NO_DAEMONIZE is set.

: "${SPARK_HOME:=$(cd "$(dirname "$0")/.." && pwd)}"
export SPARK_HOME

. "${SPARK_HOME}/sbin/name-user.sh"
. "${SPARK_HOME}/sbin/spark-config.sh"
. "${SPARK_HOME}/bin/load-spark-env.sh"

exec "${SPARK_HOME}/sbin/spark-daemon.sh" submit org.apache.spark.sql.connect.service.SparkConnectServer 1 --name "Spark Connect server" "$@"
