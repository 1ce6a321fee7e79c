package controller

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/internal/testkit/tiny"
	"github.com/sparkoperator/spark-operator/internal/trim"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// pages notes the most items that a list had.
type pages struct {
	client.Client
	items int
}

func (p *pages) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	err := p.Client.List(ctx, list, options...)
	p.items = max(p.items, meta.LenList(list))
	return err
}

// TestLiveListsAreBounded: what a pass lists live is in memory page by page, however many pods say that they are an
// application's, and nothing of a pod is kept that the cache would not keep.
func TestLiveListsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.Application("pi")
	const drivers = dependents.LivePage + 3
	for i := range drivers {
		driver := tiny.Driver(app, 1)
		driver.Name = fmt.Sprint("pi-driver-", i)
		driver.Annotations = map[string]string{"large": "text"}
		driver.Spec.Volumes = []corev1.Volume{{Name: "other"}, {Name: trim.ConfVolume, VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "conf"}},
		}}}
		w.Create(driver)
	}
	read := &pages{Client: w.API}
	r := &Reconciler{kind: tiny.Kind(), dependents: dependents.Client{Live: read}}
	p := &pass{stored: app} // an empty cache
	fact, err := r.confirm(t.Context(), p, lifecycle.Action{Verb: lifecycle.Confirm, Part: lifecycle.DriverPod, Attempt: 1})
	if err != nil {
		t.Fatal(err)
	}
	var seen lifecycle.Observed
	fact(&seen)
	if len(seen.Drivers) != drivers || read.items != dependents.LivePage {
		t.Errorf("%d drivers were found, with pages of %d items", len(seen.Drivers), read.items)
	}
	for _, driver := range p.children.Drivers {
		if driver.Annotations["large"] != "" || len(driver.Spec.Volumes) != 1 || driver.Spec.Volumes[0].ConfigMap.Name != "conf" {
			t.Errorf("kept are %d annotations and %d volumes", len(driver.Annotations), len(driver.Spec.Volumes))
		}
	}
}
