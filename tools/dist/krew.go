package main

import "fmt"

// manifest returns the beginning of the manifest for krew. The caller appends the result of manifestOf for each
// platform.
func (r *release) manifest() string {
	return fmt.Sprintf(`apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: spark
spec:
  version: %s
  homepage: https://github.com/sparkoperator/spark-operator
  shortDescription: Create, follow and debug Apache Spark applications
  description: |
    Creates, follows and debugs Spark applications, schedules, Connect servers and clusters of sparkoperator.k8s.io and
    spark.apache.org.
  platforms:
`, r.version)
}

// manifestOf returns the part of the manifest about a platform. Kubectl finds a plugin by the name of its program, so
// krew renames sparkctl to kubectl-spark.
func (r *release) manifestOf(p platform, sum string) string {
	return fmt.Sprintf(`    - selector:
        matchLabels:
          os: %[1]s
          arch: %[2]s
      uri: %[3]s/%[4]s
      sha256: %[5]s
      bin: kubectl-spark%[6]s
      files:
        - from: sparkctl%[6]s
          to: kubectl-spark%[6]s
        - from: LICENSE
          to: .
`, p.os, p.arch, r.downloads, p.archive(), sum, p.suffix())
}
