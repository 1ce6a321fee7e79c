package sparkoperator

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

// localVolumePrefix marks volumes that Spark uses as local directories. They travel as Spark configuration, not as pod volumes
// (LocalDirsFeatureStep).
const localVolumePrefix = "spark-local-dir-"

// kueuePrefix marks labels that belong to the workload and must not reach its pods (Kueue's contract with job integrations).
const kueuePrefix = "kueue.x-k8s.io/"

// sparkConf is the whole Spark configuration of an application: sparkConf and hadoopConf as the user wrote them, and over them what the typed
// fields say. A typed field wins over the same key in sparkConf.
func sparkConf(app *v1beta2.SparkApplication) (*conf.Conf, error) {
	spec := &app.Spec
	c := conf.FromMap(spec.SparkConf)
	c.Delete(confDriverPodName) // the Request names the pod
	for _, key := range slices.Sorted(maps.Keys(spec.HadoopConf)) {
		c.Set("spark.hadoop."+key, spec.HadoopConf[key])
	}
	setList(c, "spark.jars", spec.Deps.Jars)
	setList(c, "spark.jars.packages", spec.Deps.Packages)
	setList(c, "spark.jars.excludes", spec.Deps.ExcludePackages)
	setList(c, "spark.jars.repositories", spec.Deps.Repositories)
	setList(c, "spark.submit.pyFiles", spec.Deps.PyFiles)
	setList(c, "spark.files", spec.Deps.Files)
	setList(c, "spark.archives", spec.Deps.Archives)

	set(c, "spark.kubernetes.container.image", spec.Image)
	set(c, "spark.kubernetes.container.image.pullPolicy", spec.ImagePullPolicy)
	setList(c, "spark.kubernetes.container.image.pullSecrets", spec.ImagePullSecrets)
	set(c, "spark.kubernetes.memoryOverheadFactor", spec.MemoryOverheadFactor)
	setMap(c, "spark.kubernetes.node.selector.", spec.NodeSelector)
	// From Spark 4.1 on the driver leaves the exception that ended it on its pod, where the log's last lines hold only its stack trace.
	c.SetIfMissing("spark.kubernetes.driver.annotateExitException", "true")
	// An operator never waits in a JVM; a user's true would only be misleading in the driver's properties.
	c.Set("spark.kubernetes.submission.waitAppCompletion", "false")

	driver, executor := &spec.Driver, &spec.Executor
	podConf(c, app, "driver", &driver.SparkPodSpec)
	podConf(c, app, "executor", &executor.SparkPodSpec)
	set(c, "spark.kubernetes.driver.request.cores", driver.CoreRequest)
	set(c, "spark.driver.extraJavaOptions", driver.JavaOptions)
	set(c, "spark.kubernetes.driver.master", driver.KubernetesMaster)
	setMap(c, "spark.kubernetes.driver.service.annotation.", driver.ServiceAnnotations)
	setMap(c, "spark.kubernetes.driver.service.label.", driver.ServiceLabels)
	set(c, "spark.kubernetes.executor.request.cores", executor.CoreRequest)
	set(c, "spark.executor.extraJavaOptions", executor.JavaOptions)
	setNumber(c, "spark.executor.instances", executor.Instances)
	if executor.DeleteOnTermination != nil {
		c.Set("spark.kubernetes.executor.deleteOnTermination", strconv.FormatBool(*executor.DeleteOnTermination))
	}
	dynamicAllocation(c, spec.DynamicAllocation)
	if enabled, _ := c.Get("spark.dynamicAllocation.enabled"); enabled != "true" {
		c.SetIfMissing("spark.executor.instances", "1") // this API's default; Spark's own would be 2
	}
	if err := localVolumes(c, spec.Volumes, "driver", &driver.SparkPodSpec); err != nil {
		return nil, err
	}
	return c, localVolumes(c, spec.Volumes, "executor", &executor.SparkPodSpec)
}

// podConf sets what driver and executor have in common. Role is "driver" or "executor".
func podConf(c *conf.Conf, app *v1beta2.SparkApplication, role string, pod *v1beta2.SparkPodSpec) {
	spark, kube := "spark."+role+".", "spark.kubernetes."+role+"."
	setNumber(c, spark+"cores", pod.Cores)
	set(c, spark+"memory", pod.Memory)
	set(c, spark+"memoryOverhead", pod.MemoryOverhead)
	set(c, kube+"limit.cores", pod.CoreLimit)
	set(c, kube+"container.image", pod.Image)
	set(c, "spark.kubernetes.authenticate."+role+".serviceAccountName", pod.ServiceAccount)

	for _, key := range slices.Sorted(maps.Keys(app.Labels)) {
		if !strings.HasPrefix(key, kueuePrefix) {
			c.Set(kube+"label."+key, app.Labels[key])
		}
	}
	setMap(c, kube+"label.", pod.Labels)
	setMap(c, kube+"annotation.", pod.Annotations)
	env := kube + "secretKeyRef."
	for _, name := range slices.Sorted(maps.Keys(pod.EnvSecretKeyRefs)) {
		ref := pod.EnvSecretKeyRefs[name]
		c.Set(env+name, ref.Name+":"+ref.Key)
	}
	envPrefix := map[string]string{"driver": "spark.kubernetes.driverEnv.", "executor": "spark.executorEnv."}[role]
	setMap(c, envPrefix, pod.EnvVars)
	for _, secret := range pod.Secrets {
		c.Set(kube+"secrets."+secret.Name, secret.Path)
		switch secret.Type {
		case v1beta2.SecretTypeGCPServiceAccount:
			c.Set(envPrefix+"GOOGLE_APPLICATION_CREDENTIALS", secret.Path+"/key.json")
		case v1beta2.SecretTypeHadoopDelegationToken:
			c.Set(envPrefix+"HADOOP_TOKEN_FILE_LOCATION", secret.Path+"/hadoop.token")
		}
	}
}

func dynamicAllocation(c *conf.Conf, d *v1beta2.DynamicAllocation) {
	if d == nil || !d.Enabled {
		return
	}
	const prefix = "spark.dynamicAllocation."
	c.Set(prefix+"enabled", "true")
	setNumber(c, prefix+"initialExecutors", d.InitialExecutors)
	setNumber(c, prefix+"minExecutors", d.MinExecutors)
	setNumber(c, prefix+"maxExecutors", d.MaxExecutors)
	// Without an external shuffle service, which Kubernetes has not, dynamic allocation needs shuffle tracking.
	c.Set(prefix+"shuffleTracking.enabled", strconv.FormatBool(d.ShuffleTrackingEnabled == nil || *d.ShuffleTrackingEnabled))
	if d.ShuffleTrackingTimeout != nil {
		c.Set(prefix+"shuffleTracking.timeout", strconv.FormatInt(*d.ShuffleTrackingTimeout, 10)+"ms")
	}
}

// localVolumes turns the mounts of spark-local-dir-* volumes into Spark's own volume configuration.
func localVolumes(c *conf.Conf, volumes []corev1.Volume, role string, pod *v1beta2.SparkPodSpec) error {
	for i, mount := range pod.VolumeMounts {
		at := slices.IndexFunc(volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
		field := fmt.Sprintf("spec.%s.volumeMounts[%d].name", role, i)
		if at < 0 {
			return &FieldError{Field: field, Message: fmt.Sprintf("no volume named %q is in spec.volumes; add it there", mount.Name)}
		}
		if !strings.HasPrefix(mount.Name, localVolumePrefix) {
			continue
		}
		kind, options, readOnly := localVolumeOptions(volumes[at])
		if kind == "" {
			return &FieldError{Field: field, Message: fmt.Sprintf(
				"volume %q is a Spark local directory by its name; use an emptyDir, hostPath, nfs or persistentVolumeClaim, or a name without the prefix %q",
				mount.Name, localVolumePrefix)}
		}
		prefix := fmt.Sprintf("spark.kubernetes.%s.volumes.%s.%s.", role, kind, mount.Name)
		c.Set(prefix+"mount.path", mount.MountPath)
		if mount.SubPath != "" {
			c.Set(prefix+"mount.subPath", mount.SubPath)
		}
		if mount.SubPathExpr != "" {
			c.Set(prefix+"mount.subPathExpr", mount.SubPathExpr)
		}
		if mount.ReadOnly || readOnly {
			c.Set(prefix+"mount.readOnly", "true")
		}
		setMap(c, prefix+"options.", options)
	}
	return nil
}

// localVolumeOptions returns Spark's volume type and options (MountVolumesFeatureStep), or "" for a source that Spark does not know. That a
// source is read-only is no option: Spark reads mount.readOnly alone.
func localVolumeOptions(v corev1.Volume) (kind string, options map[string]string, readOnly bool) {
	options = map[string]string{}
	switch {
	case v.EmptyDir != nil:
		if v.EmptyDir.Medium != "" {
			options["medium"] = string(v.EmptyDir.Medium)
		}
		if v.EmptyDir.SizeLimit != nil {
			options["sizeLimit"] = v.EmptyDir.SizeLimit.String()
		}
		return "emptyDir", options, false
	case v.HostPath != nil:
		options["path"] = v.HostPath.Path
		if v.HostPath.Type != nil {
			options["type"] = string(*v.HostPath.Type)
		}
		return "hostPath", options, false
	case v.NFS != nil:
		options["path"], options["server"] = v.NFS.Path, v.NFS.Server
		return "nfs", options, v.NFS.ReadOnly
	case v.PersistentVolumeClaim != nil:
		options["claimName"] = v.PersistentVolumeClaim.ClaimName
		return "persistentVolumeClaim", options, v.PersistentVolumeClaim.ReadOnly
	}
	return "", nil, false
}

func set(c *conf.Conf, key string, value *string) {
	if value != nil && *value != "" {
		c.Set(key, *value)
	}
}

func setNumber(c *conf.Conf, key string, value *int32) {
	if value != nil {
		c.Set(key, strconv.FormatInt(int64(*value), 10))
	}
}

func setList(c *conf.Conf, key string, values []string) {
	if len(values) > 0 {
		c.Set(key, strings.Join(values, ","))
	}
}

func setMap(c *conf.Conf, prefix string, values map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		c.Set(prefix+key, values[key])
	}
}
