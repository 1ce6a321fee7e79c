package submit

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/bounds"
	"github.com/sparkoperator/spark-operator/spark/conf"
)

const factorKey = "spark.kubernetes.memoryOverheadFactor"

// basicStep builds the driver's container and pod: image, resources, ports, environment and labels
// (BasicDriverFeatureStep).
func basicStep(d *draft) error {
	for _, part := range []func(*draft) error{basicImage, basicResources, basicDevices, basicPorts, basicEnv, basicMeta, basicPlacement} {
		if err := part(d); err != nil {
			return err
		}
	}
	d.pod.Name, d.pod.Namespace = d.r.DriverPodName, d.r.Namespace
	d.pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	d.props.Set("spark.kubernetes.submitInDriver", "true")
	return nil
}

// firstOf goes through the given keys in order, and returns the value of the first key that is set. If no key is set,
// it returns an empty string.
func (d *draft) firstOf(keys ...string) (string, error) {
	for _, key := range keys {
		if _, _, ok := d.conf.Lookup(key); ok {
			return d.conf.String(key, "")
		}
	}
	return "", nil
}

func basicImage(d *draft) error {
	const key = "spark.kubernetes.container.image"
	own := "spark.kubernetes." + d.role + ".container.image"
	image, err := d.firstOf(own, key)
	if err != nil {
		return err
	}
	if image == "" {
		return Missing(KeyErrorf(key, "the %s needs an image: set this key or %s", d.role, own))
	}
	if d.q.imageVersion {
		if image, err = conf.Substitute(image, conf.VersionMarker, d.r.SparkVersion, conf.MaxImage); err != nil {
			return KeyErrorf(key, "%v", err)
		}
	}
	d.spark.Image = image

	const policyKey = "spark.kubernetes.container.image.pullPolicy"
	policy, err := d.conf.String(policyKey, string(corev1.PullIfNotPresent))
	if err != nil {
		return err
	}
	switch d.spark.ImagePullPolicy = corev1.PullPolicy(policy); d.spark.ImagePullPolicy {
	case corev1.PullAlways, corev1.PullNever, corev1.PullIfNotPresent:
	default:
		return KeyErrorf(policyKey, "should be Always, Never or IfNotPresent, but is %s", d.conf.Quote(policyKey, policy))
	}
	secrets, err := d.conf.List("spark.kubernetes.container.image.pullSecrets", nil)
	for _, name := range secrets {
		d.pod.Spec.ImagePullSecrets = append(d.pod.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	return err
}

func basicResources(d *draft) error {
	memory, err := d.memory()
	if err != nil {
		return err
	}
	cores, err := d.conf.Int("spark."+d.role+".cores", 1)
	if err != nil {
		return err
	}
	cpu, err := d.quantity("spark.kubernetes."+d.role+".request.cores", strconv.Itoa(cores))
	if err != nil {
		return err
	}
	res := &d.spark.Resources
	if res.Requests == nil {
		res.Requests = corev1.ResourceList{}
	}
	if res.Limits == nil {
		res.Limits = corev1.ResourceList{}
	}
	res.Requests[corev1.ResourceCPU] = cpu
	res.Requests[corev1.ResourceMemory] = memory
	res.Limits[corev1.ResourceMemory] = memory
	limitKey := "spark.kubernetes." + d.role + ".limit.cores"
	if d.conf.Has(limitKey) {
		if res.Limits[corev1.ResourceCPU], err = d.quantity(limitKey, ""); err != nil {
			return err
		}
	}
	// The API server would reject a request above its limit without naming the keys. The limit may be the template's.
	if limit, ok := res.Limits[corev1.ResourceCPU]; ok && limit.Cmp(cpu) < 0 {
		return KeyErrorf(limitKey, "%q is below the request, %q; raise it, or lower the request", limit.String(), cpu.String())
	}
	return nil
}

func (d *draft) quantity(key, def string) (resource.Quantity, error) {
	text, err := d.conf.String(key, def)
	if err != nil {
		return resource.Quantity{}, err
	}
	q, err := bounds.Quantity(strings.TrimSpace(text))
	if fault, ok := errors.AsType[*bounds.Fault](err); ok {
		return q, KeyErrorf(key, "%s", fault.Message)
	}
	if err != nil || q.Sign() < 0 {
		return q, KeyErrorf(key, "should be an amount such as 500m or 2, but is %s", d.conf.Quote(key, text))
	}
	return q, nil
}

// memory returns the memory of the draft's pod.
func (d *draft) memory() (resource.Quantity, error) {
	if d.role == RoleExecutor {
		return executorMemory(d)
	}
	return driverMemory(d)
}

// mebibytes converts MiB to a quantity.
func mebibytes(n int64) resource.Quantity { return *resource.NewQuantity(n<<20, resource.BinarySI) }

// driverMemory returns the memory of the driver pod: heap plus overhead.
func driverMemory(d *draft) (resource.Quantity, error) {
	heap, err := d.conf.Size("spark.driver.memory", 1024, conf.MiB)
	if err != nil {
		return resource.Quantity{}, err
	}
	factor, err := overheadFactor(d)
	if err != nil {
		return resource.Quantity{}, err
	}
	least := int64(384)
	if d.q.minOverhead {
		if least, err = d.conf.Size("spark.driver.minMemoryOverhead", least, conf.MiB); err != nil {
			return resource.Quantity{}, err
		}
	}
	overhead, err := d.conf.Size("spark.driver.memoryOverhead", max(truncate(factor*float64(heap)), least), conf.MiB)
	if err != nil {
		return resource.Quantity{}, err
	}
	const most = math.MaxInt64 >> 20
	if heap > most-min(overhead, most) {
		return resource.Quantity{}, KeyErrorf("spark.driver.memory", "memory plus overhead is more than a Kubernetes quantity can hold; reduce it")
	}
	return mebibytes(heap + overhead), nil
}

// truncate converts f to an integer as the JVM casts a double to an int: values beyond the largest int become the
// largest int.
func truncate(f float64) int64 { return int64(min(f, math.MaxInt32)) }

// overheadFactor returns the driver's memory overhead factor. It also writes spark.kubernetes.memoryOverheadFactor, the
// factor for driver and executors, to spark.properties, because the driver reads the factor for its executors there.
func overheadFactor(d *draft) (float64, error) {
	def := 0.1
	if d.kind != typeJava {
		def = 0.4
	}
	def, err := d.conf.Float(factorKey, def)
	if err != nil {
		return 0, err
	}
	if !(def >= 0) || math.IsInf(def, 0) {
		return 0, KeyErrorf(factorKey, "should be zero or more, but is %s", d.conf.Quote(factorKey, fmt.Sprint(def)))
	}
	d.props.Set(factorKey, conf.FormatDouble(def))
	const driverKey = "spark.driver.memoryOverheadFactor"
	factor, err := d.conf.Float(driverKey, def)
	if err != nil {
		return 0, err
	}
	if d.conf.Has(driverKey) && !(factor > 0) || math.IsInf(factor, 0) {
		return 0, KeyErrorf(driverKey, "should be more than zero, but is %s", d.conf.Quote(driverKey, fmt.Sprint(factor)))
	}
	return factor, nil
}

// basicDevices sets the container's limits for the devices of spark.ROLE.resource.NAME.amount and .vendor.
func basicDevices(d *draft) error {
	prefix := "spark." + d.role + ".resource."
	seen := map[string]bool{}
	for rest := range d.conf.WithPrefix(prefix) {
		name, _, _ := strings.Cut(rest, ".")
		if seen[name] {
			continue
		}
		seen[name] = true
		amountKey, vendorKey := prefix+name+".amount", prefix+name+".vendor"
		if !d.conf.Has(amountKey) {
			return KeyErrorf(amountKey, "is missing: set the amount of the device")
		}
		amount, err := d.conf.Int(amountKey, 0)
		if err != nil {
			return err
		}
		if amount <= 0 {
			continue
		}
		vendor, ok := d.conf.Get(vendorKey)
		if !ok {
			return KeyErrorf(vendorKey, "is missing: on Kubernetes a device needs its vendor's domain, such as nvidia.com")
		}
		device := vendor + "/" + name
		if errs := validation.IsQualifiedName(device); len(errs) > 0 {
			return KeyErrorf(vendorKey, "%s is not a valid resource name: %s", conf.Quote(vendorKey, device), errs[0])
		}
		d.spark.Resources.Limits[corev1.ResourceName(device)] = *resource.NewQuantity(int64(amount), resource.DecimalSI)
	}
	return nil
}

// The default ports of a driver, and the names of the ports in the pod and the Service.
const (
	driverPort       = 7078
	blockManagerPort = 7079
	uiPort           = 4040
	connectPort      = 15002

	driverPortName       = "driver-rpc-port"
	blockManagerPortName = "blockmanager"
	uiPortName           = "spark-ui"
	connectPortName      = "spark-connect"
)

// port goes through the given keys in order, and returns the port that the first key with a value sets. If no key has a
// value, it returns def. It returns an error for invalid ports, including zero, which means any port and cannot be
// declared.
func (d *draft) port(def int, keys ...string) (int32, error) {
	for _, key := range keys {
		if !d.conf.Has(key) {
			continue
		}
		n, err := d.conf.Int(key, def)
		if err != nil {
			return 0, err
		}
		if n < 1 || n > 65535 {
			return 0, KeyErrorf(key, "should be a port from 1 to 65535, but is %s", d.conf.Quote(key, strconv.Itoa(n)))
		}
		return int32(n), nil
	}
	return int32(def), nil
}

func basicPorts(d *draft) error {
	ports := []struct {
		name string
		def  int
		keys []string
	}{
		{driverPortName, driverPort, []string{"spark.driver.port"}},
		{blockManagerPortName, blockManagerPort, []string{"spark.driver.blockManager.port", "spark.blockManager.port"}},
		{uiPortName, uiPort, []string{"spark.ui.port"}},
		{connectPortName, connectPort, []string{"spark.connect.grpc.binding.port"}},
	}
	if !d.q.connectPort {
		ports = ports[:3]
	}
	for _, p := range ports {
		number, err := d.port(p.def, p.keys...)
		if err != nil {
			return err
		}
		d.spark.Ports = append(d.spark.Ports, corev1.ContainerPort{Name: p.name, ContainerPort: number, Protocol: corev1.ProtocolTCP})
	}
	return nil
}

func basicEnv(d *draft) error {
	user := d.r.User
	if d.r.ProxyUser != "" && (user == "" || d.q.proxyUserFirst) {
		user = d.r.ProxyUser
	}
	if user == "" {
		user = "spark"
	}
	d.env("SPARK_USER", user)
	d.env("SPARK_APPLICATION_ID", d.r.AppID)
	const prefix = "spark.kubernetes.driverEnv."
	for name, value := range d.conf.WithPrefix(prefix) {
		if errs := validation.IsRelaxedEnvVarName(name); len(errs) > 0 {
			return KeyErrorf(prefix+name, "%q is not a valid name of an environment variable: %s", name, errs[0])
		}
		d.env(name, value)
	}
	d.spark.Env = append(d.spark.Env, corev1.EnvVar{Name: "SPARK_DRIVER_BIND_ADDRESS", ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "status.podIP"},
	}})
	return nil
}

// basicMeta sets the labels of the driver pod. It computes the labels only once, for the pod and for the Service,
// because the Service selects the pod by all these labels.
func basicMeta(d *draft) error {
	ids := strings.NewReplacer("{{APP_ID}}", d.r.AppID, "{{EXECUTOR_ID}}", "")
	const prefix = "spark.kubernetes.driver.label."
	d.labels = map[string]string{}
	for key, value := range d.conf.WithPrefix(prefix) {
		if d.q.appIDInLabels {
			value = ids.Replace(value)
		}
		if err := checkLabel(key, value); err != nil {
			return KeyErrorf(prefix+key, "%v", err)
		}
		d.labels[key] = value
	}
	for _, more := range []map[string]string{d.r.Driver.Labels, d.r.Labels, {
		VersionLabel:  versionLabel(d.r.SparkVersion, d.q),
		SelectorLabel: d.r.AppID,
		AppNameKey:    AppNameLabel(d.r.AppName),
		RoleLabel:     RoleDriver,
	}} {
		maps.Copy(d.labels, more)
	}
	if d.pod.Labels == nil {
		d.pod.Labels = map[string]string{}
	}
	maps.Copy(d.pod.Labels, d.labels)
	return basicAnnotations(d, ids)
}

func basicAnnotations(d *draft, ids *strings.Replacer) error {
	const prefix = "spark.kubernetes.driver.annotation."
	for key, value := range d.conf.WithPrefix(prefix) {
		if errs := validation.IsQualifiedName(strings.ToLower(key)); len(errs) > 0 {
			return KeyErrorf(prefix+key, "%q is not a valid annotation name: %s", key, errs[0])
		}
		if d.pod.Annotations == nil {
			d.pod.Annotations = map[string]string{}
		}
		d.pod.Annotations[key] = ids.Replace(value)
	}
	return nil
}

func basicPlacement(d *draft) error {
	for _, prefix := range []string{"spark.kubernetes.node.selector.", "spark.kubernetes." + d.role + ".node.selector."} {
		for key, value := range d.conf.WithPrefix(prefix) {
			if err := checkPair("node label", key, value); err != nil {
				return KeyErrorf(prefix+key, "%v", err)
			}
			if d.pod.Spec.NodeSelector == nil {
				d.pod.Spec.NodeSelector = map[string]string{}
			}
			d.pod.Spec.NodeSelector[key] = value
		}
	}
	scheduler, err := d.firstOf("spark.kubernetes."+d.role+".scheduler.name", "spark.kubernetes.scheduler.name")
	if err != nil {
		return err
	}
	if scheduler != "" {
		d.pod.Spec.SchedulerName = scheduler
	}
	if !d.q.privilegeEscalation {
		return nil
	}
	allowed := false
	for _, key := range []string{"spark.kubernetes.securityContext.allowPrivilegeEscalation",
		"spark.kubernetes." + d.role + ".securityContext.allowPrivilegeEscalation"} {
		if allowed, err = d.conf.Bool(key, allowed); err != nil {
			return err
		}
	}
	if d.spark.SecurityContext == nil {
		d.spark.SecurityContext = &corev1.SecurityContext{}
	}
	d.spark.SecurityContext.AllowPrivilegeEscalation = new(allowed)
	return nil
}
