#!/bin/bash
# Asks the executor of this container to decommission itself (SIGPWR, which Spark understands) and waits until it has gone, at most as long as
# the pod's grace period lets us, by default 60 seconds. Spark sets it as the preStop hook of executors when decommissioning is on.
limit=${SPARK_DECOMMISSION_WAIT_SECONDS:-60}

executors() {
  local cmdline
  for cmdline in /proc/[0-9]*/cmdline; do
    if tr '\0' '\n' <"$cmdline" 2>/dev/null | grep -qE '^org\.apache\.spark\..*ExecutorBackend$'; then
      cmdline=${cmdline#/proc/}
      pid=${cmdline%/cmdline}
      # tini carries the same words in its arguments, and must not be told.
      if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = java ]; then
        echo "$pid"
      fi
    fi
  done
}

pids=$(executors)
if [ -z "$pids" ]; then
  echo "decom.sh: no executor runs here" >&2
  exit 0
fi
for pid in $pids; do
  echo "decom.sh: asking process $pid to decommission" >&2
  kill -s SIGPWR "$pid"
done
for pid in $pids; do
  timeout "$limit" tail --pid="$pid" -f /dev/null || true
done
