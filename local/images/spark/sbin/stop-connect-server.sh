#!/bin/bash
# Stops the Spark Connect server that start-connect-server.sh started.

: "${SPARK_HOME:=$(cd "$(dirname "$0")/.." && pwd)}"
export SPARK_HOME

. "${SPARK_HOME}/sbin/spark-config.sh"
. "${SPARK_HOME}/bin/load-spark-env.sh"

exec "${SPARK_HOME}/sbin/spark-daemon.sh" stop org.apache.spark.sql.connect.service.SparkConnectServer 1
