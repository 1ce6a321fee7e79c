package application

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
	"github.com/sparkoperator/spark-operator/test/kit/sparkapp"
)

// TestVolumesOfOtherContainers mounts volumes of every origin into containers of every kind, in drivers and executors.
// The pod must have each volume once. A volume that only an init container mounted was missing in the pod once.
func TestVolumesOfOtherContainers(t *testing.T) {
	const mount = `{name: side, image: i, volumeMounts: [{name: NAME, mountPath: /m}]}`
	const device = `{name: side, image: i, volumeDevices: [{name: NAME, devicePath: /m}]}`
	containers := map[string]string{
		"init container": `initContainers: [` + mount + `]`,
		"sidecar":        `sidecars: [` + mount + `]`,
		"device":         `initContainers: [` + device + `]`,
		"two containers": `initContainers: [` + mount + `], sidecars: [` + strings.Replace(mount, "side",
			"other", 1) + `]`,
		"template's init container":  `template: {spec: {initContainers: [` + mount + `], containers: [{name: main}]}}`,
		"template's other container": `template: {spec: {containers: [{name: main}, ` + mount + `]}}`,
		"template's Spark container": `template: {spec: {containers: [{name: main, volumeMounts: [{name: NAME, mountPath: /m}]}]}}`,
	}

	origins := map[string]struct{ name, spec string }{
		"spec.volumes": {"v", `volumes: [{name: v, secret: {secretName: s}}, {name: idle, emptyDir: {}}]`},
		"local directory, mounted": {"spark-local-dir-1",
			`volumes: [{name: spark-local-dir-1, emptyDir: {}}], ROLE: {volumeMounts: [{name: spark-local-dir-1, mountPath: /l}]}`},
		"another local directory": {"spark-local-dir-2", `volumes: [{name: spark-local-dir-2, emptyDir: {}}]`},
		"ConfigMap":               {"c-vol", `ROLE: {configMaps: [{name: c, path: /c}]}`},
		"Secret":                  {"s-volume", `ROLE: {secrets: [{name: s, path: /s, secretType: Generic}]}`},
		"hadoopConfigMap":         {"hadoop-configmap-volume", `hadoopConfigMap: h`},
		"sparkConf":               {"w", `sparkConf: {spark.kubernetes.ROLE.volumes.emptyDir.w.mount.path: /w}`},
		"Spark's local directory": {"spark-local-dir-1", ``},
	}
	for _, role := range []string{"driver", "executor"} {
		for container, text := range containers {
			for origin, o := range origins {
				if origin == "Spark's local directory" && container == "template's Spark container" {
					continue // Spark adds no local directory if its container mounts one
				}

				app := sparkapp.Of(t, strings.ReplaceAll("spec: {"+o.spec+"}", "ROLE", role),
					fmt.Sprintf("spec: {%s: {%s}}", role, strings.ReplaceAll(text, "NAME", o.name)))

				objects, err := usual.Render(app, createAttempt(1), sparkapp.T0)
				if err != nil {
					t.Errorf("%s of %s, in the %s: %v", container, origin, role, err)
					continue
				}

				pod := objects.Driver
				if role == "executor" {
					if pod, err = usual.Executor(app, 1, 1, "", sparkapp.T0); err != nil {
						t.Errorf("%s of %s, in an executor: %v", container, origin, err)
						continue
					}
				}

				if unknown := podtemplate.FindUnknownMount(&pod.Spec); unknown != nil {
					t.Errorf("%s of %s, in the %s: %s", container, origin, role, unknown.Message())
				}

				names := map[string]int{}
				for _, v := range pod.Spec.Volumes {
					names[v.Name]++
				}

				if names[o.name] != 1 || names["idle"] != 0 {
					t.Errorf("%s of %s, in the %s: volumes %v, want one %s and no idle one", container, origin, role,
						names, o.name)
				}
			}
		}
	}
}

// TestUnknownVolumesOfOtherContainers mounts volumes that do not exist. The message names the container.
func TestUnknownVolumesOfOtherContainers(t *testing.T) {
	const mount = `[{name: first, image: i}, {name: side, image: i, volumeMounts: [{name: gone, mountPath: /m}]}]`
	for _, role := range []string{"driver", "executor"} {
		for piece, field := range map[string]string{
			`initContainers: ` + mount: "initContainers[1].volumeMounts[0].name",
			`sidecars: ` + mount:       "sidecars[1].volumeMounts[0].name",
			`template: {spec: {initContainers: ` + mount + `, containers: [{name: main}]}}`:       "template",
			`template: {spec: {containers: ` + mount + `}}`:                                       "template",
			`template: {spec: {containers: ` + mount + `, volumes: [{name: v, emptyDir: {}}]}}`:   "template",
			`sidecars: ` + mount + `, template: {spec: {containers: [{name: main}]}}`:             "sidecars[1].volumeMounts[0].name",
			`sidecars: ` + mount + `, volumeMounts: [{name: spark-local-dir-9, mountPath: /tmp}]`: "sidecars[1].volumeMounts[0].name",
		} {
			app := sparkapp.Of(t, "spec: {volumes: [{name: spark-local-dir-9, emptyDir: {}}]}",
				fmt.Sprintf("spec: {%s: {%s}}", role, piece))
			_, err := usual.Render(app, createAttempt(1), sparkapp.T0)

			wrong, ok := errors.AsType[*dialect.FieldError](err)
			if !ok || wrong.Field != "spec."+role+"."+field ||
				!strings.Contains(wrong.Message, `container "side" mounts the volume "gone"`) {
				t.Errorf("%s: %s: %v, want a fault of %s that names the container", role, piece, err, field)
			}

			if faults := usual.Review(app, sparkapp.T0).Faults; !slices.ContainsFunc(faults,
				func(f *dialect.FieldError) bool { return ok && f.Field == wrong.Field }) {
				t.Errorf("%s: %s: the review reports %v", role, piece, faults)
			}
		}
	}
	// Spark's own volume of the same name is added to executors when they run.
	local := sparkapp.Of(t, `spec: {volumes: [{name: spark-local-dir-1, hostPath: {path: /x}}], executor: {sidecars: [{name: a, image: i, volumeMounts: [{name: spark-local-dir-1, mountPath: /m}]}]}}`)
	if got := refusedField(local); got != "spec.volumes" {
		t.Errorf("a volume with the name of Spark's own: refused for %s", got)
	}
	// A feature step of the user may add volumes that the operator does not know.
	app := sparkapp.Of(t, `spec: {sparkConf: {spark.kubernetes.executor.pod.featureSteps: a.B}, executor: {initContainers: `+mount+`}}`)
	if _, err := usual.Render(app, createAttempt(1), sparkapp.T0); err != nil {
		t.Errorf("with a feature step: %v", err)
	}
}
