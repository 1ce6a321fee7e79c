package apply

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/intake/trim"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
)

func TestConfirmFindsWhatTheCacheDoesNotShow(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	app := w.Application("pi")
	w.Create(tiny.Driver(app, 1))
	a := Applier{Kind: tiny.Kind(), Dependents: dependents.Client{Live: w.API}}
	view := dependents.View{Owner: app} // an empty cache

	// The first read finds the driver, whichever attempt the action names. The second read finds nothing that is not
	// known yet.
	for _, found := range []bool{true, false} {
		outcome, err := a.confirm(t.Context(), view,
			lifecycle.Action{Verb: lifecycle.Confirm, Part: lifecycle.DriverPod, Attempt: 1})
		if err != nil {
			t.Fatal(err)
		}
		var seen lifecycle.Observed
		outcome.Fact(&seen)
		view = view.Add(outcome.Found, outcome.Created)

		if (seen.Driver(1) != nil) != found || seen.Confirmed == found {
			t.Errorf("found should be %t: %+v", found, seen)
		}
	}
}

// TestLaunchForAnotherRequest checks a launch whose pod exists already, from an earlier launch that was not stored and
// that the cache does not show. If the restart request has changed since, the pod must be reported, so that the next
// decision does not count the request as carried out.
func TestLaunchForAnotherRequest(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name            string
		role            string
		carried, wanted string
		known, found    bool
	}{
		{"no request", identity.RoleDriver, "", "", false, false},
		{"the same request", identity.RoleDriver, "r1", "r1", false, false},
		{"a driver before the request", identity.RoleDriver, "", "r1", false, true},
		{"a submitter before the request", identity.RoleSubmitter, "", "r1", false, true},
		{"another request", identity.RoleDriver, "r1", "r2", false, true},
		{"a removed request", identity.RoleDriver, "r1", "", false, true},
		{"the decision knew the pod", identity.RoleDriver, "", "r1", true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := scene.New(t)
			app := w.Application("pi")
			pod := func(request string) *corev1.Pod {
				pod := tiny.Driver(app, 1)
				pod.Namespace, pod.Labels[identity.RoleLabel] = w.Namespace, test.role
				pod.Annotations = map[string]string{lifecycle.RestartRequestAnnotation: request}
				return pod
			}
			existing := pod(test.carried)
			w.Create(existing)

			a := Applier{Kind: tiny.Kind(), Dependents: dependents.Client{Client: w.API, Live: w.API}}

			view := dependents.View{Owner: app}
			if test.known {
				view.Set.Drivers = []corev1.Pod{*existing}
			}

			wanted := pod(test.wanted)

			outcome, err := a.createOne(t.Context(), view, wanted, wanted)
			if err != nil {
				t.Fatal(err)
			}

			if found := outcome.Fact != nil; found != test.found {
				t.Fatalf("found %t, want %t", found, test.found)
			}

			if test.found {
				var seen lifecycle.Observed
				outcome.Fact(&seen)

				if d, s := seen.Driver(1), seen.Submitter(1); (d == nil || d.RestartRequest != test.carried) && (s == nil || s.RestartRequest != test.carried) {
					t.Errorf("the fact is %+v", seen)
				}
			}
		})
	}
}

// TestConfirmOfAnOwnerThatIsOrphaned checks that confirm does not report a driver as lost if the custom resource is
// deleted with --cascade=orphan. The driver then has no owner any more, but the cache may still show the custom
// resource as it was before the deletion.
func TestConfirmOfAnOwnerThatIsOrphaned(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	app := w.Application("pi")
	driver := tiny.Driver(app, 1)
	driver.OwnerReferences = nil // removed by the garbage collector
	w.Create(driver)
	a := Applier{Kind: tiny.Kind(), Dependents: dependents.Client{Client: w.API, Live: w.API}}
	confirm := func() (Outcome, error) {
		return a.confirm(t.Context(), dependents.View{Owner: app},
			lifecycle.Action{Verb: lifecycle.Confirm, Part: lifecycle.DriverPod, Attempt: 1})
	}

	// Somebody removed the owner reference of a driver whose application stays. So the driver no longer belongs to the
	// application.
	outcome, err := confirm()
	if err != nil {
		t.Fatal(err)
	}

	var seen lifecycle.Observed
	if outcome.Fact(&seen); !seen.Confirmed || seen.Driver(1) != nil {
		t.Errorf("the owner stays: %+v", seen)
	}

	held := app.DeepCopy()

	held.Finalizers = []string{"example.com/held"}
	if err := w.API.Patch(t.Context(), held, client.MergeFrom(app)); err != nil {
		t.Fatal(err)
	}

	if err := w.API.Delete(t.Context(), held.DeepCopy()); err != nil {
		t.Fatal(err)
	}

	if outcome, err := confirm(); apianswer.WaitOf(err) == nil || outcome.Fact != nil {
		t.Errorf("the owner is being deleted: %v, %v", outcome.Fact, err)
	}

	w.Patch("pi", `{"metadata":{"finalizers":null}}`)
	w.WaitGone(app)

	if outcome, err := confirm(); apianswer.WaitOf(err) == nil || outcome.Fact != nil {
		t.Errorf("the owner is gone: %v, %v", outcome.Fact, err)
	}

	w.Application("pi")

	if outcome, err := confirm(); apianswer.WaitOf(err) == nil || outcome.Fact != nil {
		t.Errorf("another application has the name of the owner: %v, %v", outcome.Fact, err)
	}
}

// pages is a client that records the number of items in the largest page of a list.
type pages struct {
	client.Client
	items int
}

func (p *pages) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	err := p.Client.List(ctx, list, options...)
	p.items = max(p.items, meta.LenList(list))
	return err
}

// TestLiveListsAreBounded checks that a live list is read page by page, even if very many pods have the labels of an
// application. The result must contain only those parts of a pod that the cache keeps too.
func TestLiveListsAreBounded(t *testing.T) {
	t.Parallel()
	w := scene.New(t)
	app := w.Application("pi")

	const drivers = dependents.LivePage + 3
	for i := range drivers {
		driver := tiny.Driver(app, 1)
		driver.Name = fmt.Sprint("pi-driver-", i)
		driver.Annotations = map[string]string{"large": "text"}
		driver.Spec.Volumes = []corev1.Volume{{Name: "other"},
			{Name: trim.ConfVolume, VolumeSource: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "conf"}},
			}}}
		w.Create(driver)
	}

	read := &pages{Client: w.API}
	a := Applier{Kind: tiny.Kind(), Dependents: dependents.Client{Live: read}}

	outcome, err := a.confirm(t.Context(), dependents.View{Owner: app},
		lifecycle.Action{Verb: lifecycle.Confirm, Part: lifecycle.DriverPod, Attempt: 1})
	if err != nil {
		t.Fatal(err)
	}
	var seen lifecycle.Observed
	outcome.Fact(&seen)

	if len(seen.Drivers) != drivers || read.items != dependents.LivePage {
		t.Errorf("%d drivers were found, with pages of %d items", len(seen.Drivers), read.items)
	}

	for _, driver := range outcome.Found.Drivers {
		if driver.Annotations["large"] != "" || len(driver.Spec.Volumes) != 1 ||
			driver.Spec.Volumes[0].ConfigMap.Name != "conf" {
			t.Errorf("kept are %d annotations and %d volumes", len(driver.Annotations), len(driver.Spec.Volumes))
		}
	}
}
