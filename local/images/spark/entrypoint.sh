#!/bin/bash
# Entrypoint of the Spark image. `driver ARGS` and `executor` are what Spark's Kubernetes scheduler asks of an image; anything else is run as
# it is. tini becomes the first process: it passes signals on and reaps orphans (-s also when it is not process 1).
set -e

: "${SPARK_HOME:=/opt/spark}"

. "${SPARK_HOME}/sbin/name-user.sh"

# Class path of an executor. A driver has its own from spark-submit, which reads SPARK_CONF_DIR, HADOOP_CONF_DIR and SPARK_DIST_CLASSPATH
# itself and gets what executors have in SPARK_CLASSPATH as spark.driver.extraClassPath; only SPARK_EXTRA_CLASSPATH is unknown to it.
executor_class_path() {
  local path="${SPARK_CLASSPATH}:${SPARK_HOME}/jars/*"
  if [ -n "${SPARK_EXTRA_CLASSPATH}" ]; then
    path="${SPARK_EXTRA_CLASSPATH}:${path}"
  fi
  if [ -n "${HADOOP_CONF_DIR}" ]; then
    path="${HADOOP_CONF_DIR}:${path}"
  fi
  path="${SPARK_CONF_DIR:-${SPARK_HOME}/conf}:${path}"
  if [ -n "${SPARK_DIST_CLASSPATH}" ]; then
    path="${path}:${SPARK_DIST_CLASSPATH}"
  fi
  # An empty element would mean the working directory.
  while [[ $path == *::* ]]; do path=${path//::/:}; done
  path=${path#:}
  printf '%s' "${path%:}"
}

# SPARK_JAVA_OPT_0, SPARK_JAVA_OPT_1, ... in the order of their numbers, one option each, whatever blanks are in it.
java_options() {
  local i name
  for i in $(compgen -v SPARK_JAVA_OPT_ | sed -n 's/^SPARK_JAVA_OPT_\([0-9][0-9]*\)$/\1/p' | sort -n); do
    name="SPARK_JAVA_OPT_$i"
    options+=("${!name}")
  done
}

case "$1" in
  driver)
    shift
    extra=()
    if [ -n "${SPARK_EXTRA_CLASSPATH}" ]; then
      # The only way into the class path of a driver beside its configuration, which stays as the user wrote it.
      export SPARK_DIST_CLASSPATH="${SPARK_DIST_CLASSPATH:+$SPARK_DIST_CLASSPATH:}${SPARK_EXTRA_CLASSPATH}"
    fi
    if [ -n "${SPARK_DRIVER_BIND_ADDRESS}" ]; then
      extra=(--conf "spark.driver.bindAddress=${SPARK_DRIVER_BIND_ADDRESS}"
        --conf "spark.executorEnv.SPARK_DRIVER_POD_IP=${SPARK_DRIVER_BIND_ADDRESS}")
    fi
    set -- "${SPARK_HOME}/bin/spark-submit" "${extra[@]}" --deploy-mode client "$@"
    ;;
  executor)
    shift
    options=()
    java_options
    attributes=()
    if [ -n "${SPARK_EXECUTOR_POD_NAME}" ]; then
      attributes=(--podName "${SPARK_EXECUTOR_POD_NAME}")
    fi
    set -- "${JAVA_HOME:+$JAVA_HOME/bin/}java" "${options[@]}" \
      "-Xms${SPARK_EXECUTOR_MEMORY}" "-Xmx${SPARK_EXECUTOR_MEMORY}" \
      -cp "$(executor_class_path)" \
      org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
      --driver-url "${SPARK_DRIVER_URL}" \
      --executor-id "${SPARK_EXECUTOR_ID}" \
      --cores "${SPARK_EXECUTOR_CORES}" \
      --app-id "${SPARK_APPLICATION_ID}" \
      --hostname "${SPARK_EXECUTOR_POD_IP}" \
      --resourceProfileId "${SPARK_RESOURCE_PROFILE_ID}" \
      "${attributes[@]}" "$@"
    ;;
  "")
    set -- /bin/bash
    ;;
  *)
    exec "$@"
    ;;
esac

exec tini -s -- "$@"
