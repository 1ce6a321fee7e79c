cat > driver.json <<'END_OF_FILE'
{
  "apiVersion": "v1",
  "kind": "Pod",
  "metadata": {
    "annotations": {
      "kubectl.kubernetes.io/default-container": "spark-kubernetes-driver"
    }
  },
  "spec": {
    "containers": [
      {
        "image": "docker.io/library/proxy:1",
        "name": "proxy",
        "ports": [
          {
            "containerPort": 3128,
            "protocol": "TCP"
          }
        ],
        "resources": {}
      },
      {
        "env": [
          {
            "name": "DB_PASSWORD",
            "value": "*********(redacted)"
          },
          {
            "name": "MODE",
            "value": "fast"
          }
        ],
        "name": "spark-kubernetes-driver",
        "resources": {},
        "terminationMessagePolicy": "FallbackToLogsOnError"
      }
    ],
    "enableServiceLinks": false,
    "hostUsers": true,
    "tolerations": [
      {
        "operator": "Exists"
      }
    ]
  }
}
END_OF_FILE
cat > executor.json <<'END_OF_FILE'
{
  "apiVersion": "v1",
  "kind": "Pod",
  "spec": {
    "containers": [
      {
        "env": [
          {
            "name": "DB_PASSWORD",
            "value": "*********(redacted)"
          }
        ],
        "name": "spark-kubernetes-executor",
        "resources": {},
        "terminationMessagePolicy": "FallbackToLogsOnError"
      }
    ],
    "enableServiceLinks": false
  }
}
END_OF_FILE
spark-submit \
  --master k8s://https://kubernetes.default.svc \
  --deploy-mode cluster \
  --class org.apache.spark.examples.SparkPi \
  --conf spark.app.name=everything \
  --conf spark.executor.instances=2 \
  --conf 'spark.hadoop.fs.s3a.secret.key=*********(redacted)' \
  --conf spark.kubernetes.authenticate.driver.serviceAccountName=spark-operator-spark \
  --conf spark.kubernetes.container.image=docker.io/apache/spark:4.1.4 \
  --conf spark.kubernetes.driver.annotateExitException=true \
  --conf spark.kubernetes.driver.label.team=data \
  --conf spark.kubernetes.driver.pod.name=everything-driver \
  --conf spark.kubernetes.driver.podTemplateContainerName=spark-kubernetes-driver \
  --conf spark.kubernetes.driver.podTemplateFile=driver.json \
  --conf spark.kubernetes.executor.podTemplateFile=executor.json \
  --conf spark.kubernetes.namespace=default \
  --conf spark.kubernetes.submission.waitAppCompletion=false \
  local:///opt/spark/examples/jars/spark-examples.jar \
  'it'\''s' \
  'a b' \
  '$HOME'
