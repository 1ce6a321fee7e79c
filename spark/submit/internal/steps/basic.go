package steps

import (
	"errors"
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/line"
)

// basicStep builds the driver's container and pod: image, resources, ports, environment and labels
// (BasicDriverFeatureStep).
func basicStep(d *draft.Draft) error {
	for _, part := range []func(*draft.Draft) error{BasicImage, BasicResources, BasicDevices, basicPorts, basicEnv, basicMeta, BasicPlacement} {
		if err := part(d); err != nil {
			return err
		}
	}

	d.Pod.Name, d.Pod.Namespace = d.Request.DriverPodName, d.Request.Namespace
	d.Pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	d.Props.Set("spark.kubernetes.submitInDriver", "true")
	return nil
}

// BasicImage sets the image of the Spark container and how it is pulled.
func BasicImage(d *draft.Draft) error {
	const key = "spark.kubernetes.container.image"
	own := "spark.kubernetes." + d.Role + ".container.image"

	image, err := d.FirstOf(own, key)
	if err != nil {
		return err
	}

	if image == "" {
		return submit.Missing(submit.KeyErrorf(key, "the %s needs an image: set this key or %s", d.Role, own))
	}

	if d.Line.ImageVersion {
		if image, err = conf.Substitute(image, conf.VersionMarker, d.Request.SparkVersion, conf.MaxImage); err != nil {
			return submit.KeyErrorf(key, "%v", err)
		}
	}

	d.Spark.Image = image

	const policyKey = "spark.kubernetes.container.image.pullPolicy"

	policy, err := d.Conf.String(policyKey, string(corev1.PullIfNotPresent))
	if err != nil {
		return err
	}

	switch d.Spark.ImagePullPolicy = corev1.PullPolicy(policy); d.Spark.ImagePullPolicy {
	case corev1.PullAlways, corev1.PullNever, corev1.PullIfNotPresent:
	default:
		return submit.KeyErrorf(policyKey, "should be Always, Never or IfNotPresent, but is %s", d.Conf.Quote(policyKey, policy))
	}

	secrets, err := d.Conf.List("spark.kubernetes.container.image.pullSecrets", nil)
	for _, name := range secrets {
		d.Pod.Spec.ImagePullSecrets = append(d.Pod.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	return err
}

// BasicResources sets the CPU and the memory of the Spark container.
func BasicResources(d *draft.Draft) error {
	memory, err := d.Memory()
	if err != nil {
		return err
	}

	cores, err := d.Conf.Int("spark."+d.Role+".cores", 1)
	if err != nil {
		return err
	}

	cpu, err := quantity(d, "spark.kubernetes."+d.Role+".request.cores", strconv.Itoa(cores))
	if err != nil {
		return err
	}

	res := &d.Spark.Resources
	if res.Requests == nil {
		res.Requests = corev1.ResourceList{}
	}

	if res.Limits == nil {
		res.Limits = corev1.ResourceList{}
	}

	res.Requests[corev1.ResourceCPU] = cpu
	res.Requests[corev1.ResourceMemory] = memory
	res.Limits[corev1.ResourceMemory] = memory

	limitKey := "spark.kubernetes." + d.Role + ".limit.cores"
	if d.Conf.Has(limitKey) {
		if res.Limits[corev1.ResourceCPU], err = quantity(d, limitKey, ""); err != nil {
			return err
		}
	}
	// The API server would reject a request above its limit without naming the keys. The limit may be the template's.
	if limit, ok := res.Limits[corev1.ResourceCPU]; ok && limit.Cmp(cpu) < 0 {
		return submit.KeyErrorf(limitKey, "%q is below the request, %q; raise it, or lower the request", limit.String(), cpu.String())
	}
	return nil
}

func quantity(d *draft.Draft, key, def string) (resource.Quantity, error) {
	text, err := d.Conf.String(key, def)
	if err != nil {
		return resource.Quantity{}, err
	}

	q, err := bounds.Quantity(strings.TrimSpace(text))
	if fault, ok := errors.AsType[*bounds.Fault](err); ok {
		return q, submit.KeyErrorf(key, "%s", fault.Message)
	}

	if err != nil || q.Sign() < 0 {
		return q, submit.KeyErrorf(key, "should be an amount such as 500m or 2, but is %s", d.Conf.Quote(key, text))
	}
	return q, nil
}

// BasicDevices sets the container's limits for the devices of spark.ROLE.resource.NAME.amount and .vendor.
func BasicDevices(d *draft.Draft) error {
	prefix := "spark." + d.Role + ".resource."

	seen := map[string]bool{}
	for rest := range d.Conf.WithPrefix(prefix) {
		name, _, _ := strings.Cut(rest, ".")
		if seen[name] {
			continue
		}

		seen[name] = true

		amountKey, vendorKey := prefix+name+".amount", prefix+name+".vendor"
		if !d.Conf.Has(amountKey) {
			return submit.KeyErrorf(amountKey, "is missing: set the amount of the device")
		}

		amount, err := d.Conf.Int(amountKey, 0)
		if err != nil {
			return err
		}

		if amount <= 0 {
			continue
		}

		vendor, ok := d.Conf.Get(vendorKey)
		if !ok {
			return submit.KeyErrorf(vendorKey, "is missing: on Kubernetes a device needs its vendor's domain, such as nvidia.com")
		}

		device := vendor + "/" + name
		if errs := validation.IsQualifiedName(device); len(errs) > 0 {
			return submit.KeyErrorf(vendorKey, "%s is not a valid resource name: %s", conf.Quote(vendorKey, device), errs[0])
		}

		d.Spark.Resources.Limits[corev1.ResourceName(device)] = *resource.NewQuantity(int64(amount), resource.DecimalSI)
	}
	return nil
}

// The default ports of a driver, and the names of the ports in the pod and the Service.
const (
	DriverPort       = 7078
	BlockManagerPort = 7079
	uiPort           = 4040
	connectPort      = 15002

	driverPortName       = "driver-rpc-port"
	BlockManagerPortName = "blockmanager"
	uiPortName           = "spark-ui"
	connectPortName      = "spark-connect"
)

// port goes through the given keys in order, and returns the port that the first key with a value sets. If no key has a
// value, it returns def. It returns an error for invalid ports, including zero, which means any port and cannot be
// declared.
func port(d *draft.Draft, def int, keys ...string) (int32, error) {
	for _, key := range keys {
		if !d.Conf.Has(key) {
			continue
		}

		n, err := d.Conf.Int(key, def)
		if err != nil {
			return 0, err
		}

		if n < 1 || n > 65535 {
			return 0, submit.KeyErrorf(key, "should be a port from 1 to 65535, but is %s", d.Conf.Quote(key, strconv.Itoa(n)))
		}
		return int32(n), nil
	}
	return int32(def), nil
}

func basicPorts(d *draft.Draft) error {
	ports := []struct {
		name string
		def  int
		keys []string
	}{
		{driverPortName, DriverPort, []string{"spark.driver.port"}},
		{BlockManagerPortName, BlockManagerPort, []string{"spark.driver.blockManager.port", "spark.blockManager.port"}},
		{uiPortName, uiPort, []string{"spark.ui.port"}},
		{connectPortName, connectPort, []string{"spark.connect.grpc.binding.port"}},
	}
	if !d.Line.ConnectPort {
		ports = ports[:3]
	}

	for _, p := range ports {
		number, err := port(d, p.def, p.keys...)
		if err != nil {
			return err
		}

		d.Spark.Ports = append(d.Spark.Ports, corev1.ContainerPort{Name: p.name, ContainerPort: number, Protocol: corev1.ProtocolTCP})
	}
	return nil
}

func basicEnv(d *draft.Draft) error {
	user := d.Request.User
	if d.Request.ProxyUser != "" && (user == "" || d.Line.ProxyUserFirst) {
		user = d.Request.ProxyUser
	}

	if user == "" {
		user = "spark"
	}

	d.AddEnv("SPARK_USER", user)
	d.AddEnv("SPARK_APPLICATION_ID", d.Request.AppID)

	const prefix = "spark.kubernetes.driverEnv."
	for name, value := range d.Conf.WithPrefix(prefix) {
		if errs := validation.IsRelaxedEnvVarName(name); len(errs) > 0 {
			return submit.KeyErrorf(prefix+name, "%q is not a valid name of an environment variable: %s", name, errs[0])
		}

		d.AddEnv(name, value)
	}

	d.Spark.Env = append(d.Spark.Env, corev1.EnvVar{Name: "SPARK_DRIVER_BIND_ADDRESS", ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "status.podIP"},
	}})
	return nil
}

// basicMeta sets the labels of the driver pod. It computes the labels only once, for the pod and for the Service,
// because the Service selects the pod by all these labels.
func basicMeta(d *draft.Draft) error {
	ids := strings.NewReplacer("{{APP_ID}}", d.Request.AppID, "{{EXECUTOR_ID}}", "")
	const prefix = "spark.kubernetes.driver.label."

	d.Labels = map[string]string{}
	for key, value := range d.Conf.WithPrefix(prefix) {
		if d.Line.AppIDInLabels {
			value = ids.Replace(value)
		}

		if err := draft.CheckLabel(key, value); err != nil {
			return submit.KeyErrorf(prefix+key, "%v", err)
		}

		d.Labels[key] = value
	}

	for _, more := range []map[string]string{d.Request.Driver.Labels, d.Request.Labels, {
		submit.VersionLabel:  line.Label(d.Request.SparkVersion, d.Line),
		submit.SelectorLabel: d.Request.AppID,
		submit.AppNameKey:    submit.AppNameLabel(d.Request.AppName),
		submit.RoleLabel:     submit.RoleDriver,
	}} {
		maps.Copy(d.Labels, more)
	}

	if d.Pod.Labels == nil {
		d.Pod.Labels = map[string]string{}
	}

	maps.Copy(d.Pod.Labels, d.Labels)
	return basicAnnotations(d, ids)
}

func basicAnnotations(d *draft.Draft, ids *strings.Replacer) error {
	const prefix = "spark.kubernetes.driver.annotation."
	for key, value := range d.Conf.WithPrefix(prefix) {
		if errs := validation.IsQualifiedName(strings.ToLower(key)); len(errs) > 0 {
			return submit.KeyErrorf(prefix+key, "%q is not a valid annotation name: %s", key, errs[0])
		}

		if d.Pod.Annotations == nil {
			d.Pod.Annotations = map[string]string{}
		}

		d.Pod.Annotations[key] = ids.Replace(value)
	}
	return nil
}

// BasicPlacement sets the pod's node selector and scheduler, and the container's privilege escalation.
func BasicPlacement(d *draft.Draft) error {
	for _, prefix := range []string{"spark.kubernetes.node.selector.", "spark.kubernetes." + d.Role + ".node.selector."} {
		for key, value := range d.Conf.WithPrefix(prefix) {
			if err := draft.CheckPair("node label", key, value); err != nil {
				return submit.KeyErrorf(prefix+key, "%v", err)
			}

			if d.Pod.Spec.NodeSelector == nil {
				d.Pod.Spec.NodeSelector = map[string]string{}
			}

			d.Pod.Spec.NodeSelector[key] = value
		}
	}

	scheduler, err := d.FirstOf("spark.kubernetes."+d.Role+".scheduler.name", "spark.kubernetes.scheduler.name")
	if err != nil {
		return err
	}

	if scheduler != "" {
		d.Pod.Spec.SchedulerName = scheduler
	}

	return privilegeEscalation(d)
}

// privilegeEscalation sets allowPrivilegeEscalation of the container. In a bound, a value that a template sets remains,
// because it counts in the lines before 4.3, unless the configuration allows the escalation from 4.3 on.
func privilegeEscalation(d *draft.Draft) error {
	if !d.Line.PrivilegeEscalation && !d.Request.Bound {
		return nil
	}

	var err error

	allowed := false
	for _, key := range []string{"spark.kubernetes.securityContext.allowPrivilegeEscalation",
		"spark.kubernetes." + d.Role + ".securityContext.allowPrivilegeEscalation"} {
		if allowed, err = d.Conf.Bool(key, allowed); err != nil {
			return err
		}
	}

	if d.Request.Bound && !allowed {
		return nil
	}

	if d.Spark.SecurityContext == nil {
		d.Spark.SecurityContext = &corev1.SecurityContext{}
	}

	d.Spark.SecurityContext.AllowPrivilegeEscalation = new(allowed)
	return nil
}
