package overlay

import "testing"

// much returns an overlay with the most common changes, from the cases of TestApply.
func much() Overlay {
	all := changes()
	o := all["labels and annotations"].overlay
	o.Env = all["env: a new value is added and counts"].overlay.Env
	o.ConfigMaps = all["ConfigMaps"].overlay.ConfigMaps
	o.Volumes, o.VolumeMounts = all["volumes and mounts"].overlay.Volumes,
		all["volumes and mounts"].overlay.VolumeMounts
	o.Sidecars = all["sidecars, one of which exists"].overlay.Sidecars
	o.NodeSelector, o.Affinity = all["node selector by key"].overlay.NodeSelector, all["affinity"].overlay.Affinity
	o.Tolerations = all["tolerations"].overlay.Tolerations
	o.SecurityContext = all["security contexts"].overlay.SecurityContext
	return o
}

// BenchmarkApply measures how long it takes to apply an overlay to a pod in the form that Spark creates. Each iteration
// copies the pod; the case "nothing" measures only the copy.
func BenchmarkApply(b *testing.B) {
	for _, c := range []struct {
		name    string
		overlay Overlay
	}{{"nothing", Overlay{}}, {"much", much()}} {
		b.Run(c.name, func(b *testing.B) {
			pod := driver()

			b.ReportAllocs()

			for b.Loop() {
				if err := Apply(pod.DeepCopy(), DriverContainer, c.overlay); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
