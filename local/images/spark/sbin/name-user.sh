#!/bin/bash
# To be sourced: gives a user without a name one.
#
# Hadoop asks the system for the name of the user, and the JVM gives up when there is none. A pod may run as any number, so give that number a
# name in a copy of the account files, where a writable place exists. The root file system may well be read-only.
name_user() {
  local uid gid dir
  uid=$(id -u)
  gid=$(id -g)
  if getent passwd "$uid" >/dev/null; then
    return
  fi
  for dir in "${TMPDIR:-/tmp}" /dev/shm "$PWD"; do
    if [ -w "$dir" ] && dir=$(mktemp -d "$dir/accounts.XXXXXX" 2>/dev/null); then
      { cat /etc/passwd && echo "${SPARK_USER_NAME:-spark-$uid}:x:$uid:$gid:Spark:$SPARK_HOME/work-dir:/bin/false"; } >"$dir/passwd"
      { cat /etc/group && echo "spark-$gid:x:$gid:"; } >"$dir/group"
      export NSS_WRAPPER_PASSWD="$dir/passwd" NSS_WRAPPER_GROUP="$dir/group"
      export LD_PRELOAD="libnss_wrapper.so${LD_PRELOAD:+:$LD_PRELOAD}"
      return
    fi
  done
  echo "entrypoint: user $uid has no name and there is no writable directory to give it one; mount an emptyDir at /tmp" >&2
}

name_user
