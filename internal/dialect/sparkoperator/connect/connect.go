// Package connect is the dialect of SparkConnects of sparkoperator.k8s.io. It converts a custom resource into the input
// of the packages internal/lifecycle/connect and spark/connect, and writes the decision into the custom resource's
// status. It is pure.
package connect

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/launch"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/fields"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	machine "github.com/sparkoperator/spark-operator/internal/lifecycle/connect"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Options are the settings of the operator's configuration that apply to every Spark Connect server.
type Options struct {
	// Master is the URL of the API server that servers use; empty means submit.DefaultMaster.
	Master string
	// MissingGrace is how long a new server pod may be missing in the cache before the operator reads it live.
	MissingGrace time.Duration
	// Policy selects whether servers have a NetworkPolicy, and from where clients may connect if they have one.
	Policy Policy
	// UI configures how the servers' web UIs can be reached. If UI.Service is set, each server has a Service for its
	// web UI in the cluster. If it is not set, only servers whose spec requests an Ingress or a route have such a
	// Service. The Service for clients always exists.
	UI sparkoperator.UI
	// StatefulSets says that drivers may manage StatefulSets, which an allocator of executors needs.
	StatefulSets bool
	// Own is the operator's service account, which no pod of a server may use.
	Own dialect.ServiceAccount
	// Rules are the rules of the platform for the server's namespace; nil if there are none.
	Rules dialect.Rules
	// Defaults are the platform's defaults in the SparkConnect's namespace; nil if there are none.
	Defaults *platform.Settings
}

// Policy selects the NetworkPolicy of servers. Every value except the empty one restricts the ports for executors: only
// a server and its own executors can connect to them.
type Policy string

// These are the values of Policy. With the empty value, servers have no NetworkPolicy.
const (
	ClientsAnywhere  Policy = "Anywhere"
	ClientsNamespace Policy = "Namespace"
)

// Connects decides about SparkConnects and renders their objects. It is pure: its methods read nothing but their
// arguments.
type Connects struct{ Options }

// Decide reads the SparkConnect, runs the state machine, and writes the result into sc.Status. It stores nothing, and
// does not change the status of a SparkConnect that is being deleted.
func (c Connects) Decide(sc *v1alpha1.SparkConnect, seen lifecycle.Observed, now time.Time) lifecycle.Plan {
	unplaced := c
	c.Defaults = launch.Admitted(c.Defaults, seen)
	current := c.present(sc)

	wanted, memory := current.wanted(), decodeConnect(&sc.Status)
	if sc.OutOfBounds != "" {
		wanted = dialect.UnreadableSpec(wanted, sc.OutOfBounds, true, memory)
	}

	unread := sc.Status.Operator == nil || sc.Status.ObservedGeneration != sc.Generation
	taken := sc.Status.Operator == nil && sc.Status.State != v1alpha1.SparkConnectStateNew && len(seen.Drivers) > 0
	// A terminal phase follows from the spec or from the operator's configuration. Either may have changed in the
	// meantime, so the spec is validated again.
	var next *launched
	if dialect.MayLaunch(wanted, memory, seen) || memory.Phase.Terminal() && !wanted.Deleting && !wanted.Suspend {
		next = c.next(sc, launch.NextAttempt(memory))
		wanted.Invalid = dialect.Invalid(faults(unplaced.judged(next)))
	}

	if wanted.Invalid != nil {
		wanted.MinExecutors = 0 // unknown: the running server is not of this spec
	}

	plan := machine.Step(wanted, memory, seen, now)
	next.Attach(plan)

	if wanted.Deleting {
		return plan
	}

	if next != nil && plan.Next.Attempt != memory.Attempt {
		current = next.Attempt
	}

	if taken {
		plan.Notices = append([]lifecycle.Notice{serverTakenOver(sc)}, plan.Notices...)
	}

	stampChange(sc, now, func() {
		if unread {
			plan.Notices = append(plan.Notices, current.serviceWarnings()...)
		}

		plan.Notices = append(plan.Notices, encodeService(current, now)...)
		plan.Notices = append(plan.Notices, encodeConnect(sc, plan, seen)...)
		launch.Remember(c.Defaults, stored(sc), memory, plan.Next)
		plan.Notices = append(plan.Notices, encodeConnectConditions(sc, plan.Next, seen.TransientError, keptDespite(wanted, plan.Next), now)...)
		plan.Notices = append(plan.Notices, dialect.EncodeQueueIgnored(&sc.Status.Conditions, plan.Next.Phase.Runs(), seen.Quota, sc.Generation, now)...)
	})
	return plan
}

// keptDespite returns the error in an edited spec if the server of the previous spec continues despite the edit.
// Otherwise it returns nil.
func keptDespite(wanted lifecycle.App, m lifecycle.Memory) *lifecycle.Cause {
	if m.Phase.Live() && lifecycle.Edited(m.SpecHash, wanted.SpecHash) {
		return wanted.Invalid
	}
	return nil
}

// wanted returns what the spec of the SparkConnect requests, without validating it. Decide validates the spec when it
// is about to create a server.
func (a *attempt) wanted() lifecycle.App {
	sc := a.sc
	return lifecycle.App{
		UID:            string(sc.UID),
		SpecHash:       a.hash(),
		RestartRequest: lifecycle.RestartRequest(sc.Annotations),
		Deleting:       sc.DeletionTimestamp != nil,
		Orphan:         slices.Contains(sc.Finalizers, metav1.FinalizerOrphanDependents),
		Suspend:        dialect.Suspended(sc.Spec.Suspend),
		MinExecutors:   connectExecutors(sc),
		MissingGrace:   a.MissingGrace,
	}
}

// Sources are the fields with the pods of a SparkConnect.
var Sources = dialect.Sources("spec.server", "spec.executor", "template")

// connectHashVersion is the version of the algorithm of Hash. If a change of the algorithm changes the hash of a stored
// spec, it must change the version too. Hashes of different versions are never compared.
const connectHashVersion = 1

// hash returns a hash of those parts of the spec that determine how a server is created. It leaves out the fields that
// may change while a server continues (suspend, ui, server.service).
//
// All spellings of a value have the same hash, because tools write the same value in different spellings. Examples are
// 1000m and 1, and the creationTimestamp that typed clients add to templates. An empty template, an empty field and a
// disabled dynamicAllocation have the same hash as a missing one.
func hash(spec *v1alpha1.SparkConnectSpec) string {
	s := *spec
	s.Suspend, s.UI, s.Server.Service = nil, nil, nil

	s.Server.Template, s.Executor.Template = plainTemplate(s.Server.Template), plainTemplate(s.Executor.Template)
	for _, text := range []**string{&s.Image, &s.Server.Memory, &s.Executor.Memory} {
		if sparkoperator.StringValue(*text) == "" {
			*text = nil
		}
	}

	if s.DynamicAllocation != nil && !s.DynamicAllocation.Enabled {
		s.DynamicAllocation = nil // because a disabled field is rendered like a missing one
	}

	return dialect.SpecHash(connectHashVersion, s)
}

// plainTemplate returns a template in which each value has one fixed spelling, without the fields that a template
// cannot set. It returns nil if no field remains. A template that cannot be parsed is returned unchanged.
func plainTemplate(template *runtime.RawExtension) *runtime.RawExtension {
	read, err := podtemplate.Read(rawtemplate.Bytes(template))
	if err != nil {
		return template
	}

	tree, err := podtemplate.Tree(read.Pod)
	if err != nil {
		return template
	}

	podtemplate.Graft(tree, runtime.DeepCopyJSON(read.Extra), func(string) {})

	if read.Pod.Spec.Containers == nil {
		if spec, ok := tree["spec"].(map[string]any); ok {
			delete(spec, "containers") // the Go type always writes it

			if len(spec) == 0 {
				delete(tree, "spec")
			}
		}
	}

	if len(tree) == 0 {
		return nil
	}

	text, err := json.Marshal(tree)
	if err != nil {
		return template
	}
	return &runtime.RawExtension{Raw: text}
}

// Render returns the objects of a Create action. Objects.Driver is the server's pod. Objects.Before contains the
// ConfigMap and, if the server needs one, the Secret. An error is a *dialect.FieldError that names the user's field.
func (c Connects) Render(sc *v1alpha1.SparkConnect, action lifecycle.Action, _ time.Time) (submit.Objects, error) {
	if action.Verb != lifecycle.Create || action.Part != lifecycle.Submission {
		return submit.Objects{}, lifecycle.Bugf("no objects can be rendered for the action %v", action)
	}

	l, objects, err := launch.Attached(action, launch.Identity{Number: action.Attempt}, func() *launched { return c.next(sc, action.Attempt) })
	if err != nil {
		return submit.Objects{}, err
	}

	objects.Warnings = l.Attempt.warnings(l.Attempt.sc)
	return objects, nil
}

// Pods returns the pods for which the next server of a SparkConnect in a queue needs quota. An error names the field to
// correct.
func (c Connects) Pods(sc *v1alpha1.SparkConnect) ([]dialect.Pods, error) {
	return c.next(sc, launch.NextAttempt(decodeConnect(&sc.Status))).QueuedPods()
}

// Executor returns the executor pod that the server of an attempt would create, except for values that only the running
// server has (see connect.Executor). The operator never creates this pod. The argument id is the executor's id, and the
// argument server is the UID of the server's pod.
func (c Connects) Executor(sc *v1alpha1.SparkConnect, attempt int32, id int, server types.UID, _ time.Time) (*corev1.Pod, error) {
	if launch.Changed(c.Defaults, stored(sc), attempt) {
		return nil, launch.ErrDefaultsChanged
	}
	return c.next(sc, attempt).ExecutorOf(id, server)
}

// asConnectError converts an error of rendering into an error that names a field of the SparkConnect.
func asConnectError(sc *v1alpha1.SparkConnect, err error) error {
	refused, ok := errors.AsType[*submit.Error](err)
	if !ok {
		return &dialect.FieldError{Field: "spec", Message: err.Error()}
	}

	field := cmp.Or(fields.Connect.FieldOfPart(refused.Field), "spec")
	if refused.Key != "" {
		field = connectKeyField(sc, refused.Key)
	}
	return &dialect.FieldError{Field: field, Message: refused.Message, Incomplete: refused.Missing}
}
