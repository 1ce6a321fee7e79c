package act

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/cli/change"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/manifest"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/internal/console/session"
	"github.com/sparkoperator/spark-operator/internal/console/table"
	"github.com/sparkoperator/spark-operator/internal/console/web"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

// action is something that a user can do with an object.
type action struct {
	// name is the name of the action in paths, and of sparkctl's verb. verb is the verb of Kubernetes for which the
	// user needs the right.
	name, title, verb string
	danger            bool
	// fits reports whether the action is offered for an object.
	fits func(client.Object) bool
	// change returns the change that the action makes, or why it is not possible; nil for the deletion.
	change func(client.Object, *Order, time.Time) (change.Change, error)
	// done is the end of the sentence about what was done.
	done string
	// effect says what will happen to an object of a kind.
	effect func(*kinds.Kind) string
}

// effects returns a function with a text for some kinds, and another text for all others.
func effects(others string, of map[*kinds.Kind]string) func(*kinds.Kind) string {
	return func(k *kinds.Kind) string { return cmp.Or(of[k], others) }
}

// actions are all actions, in the order in which they are offered.
var actions = []*action{
	{
		"resume", "Resume", "patch", false, suspended,
		func(client.Object, *Order, time.Time) (change.Change, error) { return change.Suspend(false), nil },
		"is resumed", effects("It starts again.", map[*kinds.Kind]string{kinds.Schedule: "It starts runs at its times again."}),
	},
	{
		"trigger", "Run now", "patch", false, isSchedule,
		func(o client.Object, _ *Order, at time.Time) (change.Change, error) { return change.Trigger(o, at) },
		"has a request for a run", effects("One run starts outside the times of the schedule, if its concurrency policy allows that.", nil),
	},
	{
		"restart", "Restart", "patch", false, func(o client.Object) bool { return !isSchedule(o) },
		func(o client.Object, _ *Order, at time.Time) (change.Change, error) { return change.Restart(o, at) },
		"has a request for a restart", effects("It runs again. If an attempt is running, that attempt ends first.", map[*kinds.Kind]string{
			kinds.SparkConnect: "The server is replaced, and its sessions end.", kinds.SparkCluster: "Its pods are replaced one after the other.",
		}),
	},
	{
		"scale", "Scale", "patch", false, func(o client.Object) bool { return replicas(o) != nil },
		func(o client.Object, order *Order, _ time.Time) (change.Change, error) {
			return change.Scale(o, *cmp.Or(order.Replicas, replicas(o), new(int32)))
		},
		"is scaled", effects("The number of workers changes.", map[*kinds.Kind]string{
			kinds.SparkConnect: "The number of executors changes. For that, the server is replaced, and its sessions end.",
		}),
	},
	{
		"suspend", "Suspend", "patch", true, func(o client.Object) bool { return !suspended(o) && !over(o) },
		func(client.Object, *Order, time.Time) (change.Change, error) { return change.Suspend(true), nil },
		"is suspended", effects("What runs ends, and starts anew when you resume it.", map[*kinds.Kind]string{
			kinds.Schedule: "It starts no runs until you resume it. Runs that are active continue.",
		}),
	},
	{
		"delete", "Delete", "delete", true, func(client.Object) bool { return true }, nil,
		"is deleted", effects("Its pods and the other objects that belong to it are deleted too.", map[*kinds.Kind]string{
			kinds.Schedule:         "Its runs are deleted too, also those that are active.",
			kinds.SparkApplication: "Its pods and the other objects that belong to it are deleted too. Files that sparkctl submit has put into an object store remain; sparkctl delete deletes them too.",
		}),
	},
}

func isSchedule(object client.Object) bool { return kinds.Of(object) == kinds.Schedule }

func suspended(object client.Object) bool {
	suspend, _ := reflect.TypeAssert[*bool](reflect.ValueOf(manifest.SpecOf(object)).Elem().FieldByName("Suspend"))
	return suspend != nil && *suspend
}

func over(object client.Object) bool {
	s := kube.Summarize(object)
	return s.Over()
}

// replicas returns the number that the action scale changes, or nil if the object cannot be scaled.
func replicas(object client.Object) *int32 {
	if _, err := change.Scale(object, 0); err != nil {
		return nil
	}

	if connect, ok := object.(*v1alpha1.SparkConnect); ok {
		return cmp.Or(connect.Spec.Executor.Instances, new(int32))
	}
	return new(int32(object.(*sparkv1.SparkCluster).Spec.ClusterTolerations.InstanceConfig.InitWorkers))
}

// Offered returns the actions that make sense for an object and that the user may do. If the rights are unknown, it
// returns none.
func Offered(ctx context.Context, user *session.User, object client.Object) (offered []model.Action) {
	if object.GetDeletionTimestamp() != nil {
		return nil
	}

	allowed := map[string]bool{}
	for _, verb := range []string{"patch", "delete"} {
		allowed[verb], _ = user.Client.Can(ctx, verb, object) // an unknown right is none
	}

	for _, a := range actions {
		if a.fits(object) && allowed[a.verb] {
			offered = append(offered, model.Action{Name: a.name, Title: a.title, Danger: a.danger})
		}
	}
	return offered
}

// target is the object and the action that a path names.
type target struct {
	*action
	kind            *kinds.Kind
	namespace, name string
}

// targetOf returns the target of a request. Its error is that of a page that does not exist.
func targetOf(r *web.Request) (*target, error) {
	k, err := kinds.Named(r.PathValue("kind"))
	i := slices.IndexFunc(actions, func(a *action) bool { return a.name == r.PathValue("action") })

	if err != nil || i < 0 {
		return nil, web.NotFound()
	}
	return &target{actions[i], k, r.PathValue("namespace"), r.PathValue("name")}, nil
}

// read returns the object of a target as the user may see it.
func (t *target) read(ctx context.Context, user *session.User) (client.Object, error) {
	object := t.kind.New()

	err := user.Client.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: t.name}, object)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return nil, web.NotFound()
	case err != nil:
		return nil, explained(user.Client, err, t.kind)
	}

	object.GetObjectKind().SetGroupVersionKind(t.kind.GroupVersionKind)
	return object, nil
}

func (t *target) page() string { return table.ObjectPath(t.kind.FullName(), t.namespace, t.name) }

// confirmation returns the text that the user has to type. It is the name of an object on which others depend.
func (t *target) confirmation() string {
	if t.change != nil || t.kind == kinds.SparkApplication || t.kind == kinds.ApacheApplication {
		return ""
	}
	return t.name
}

// dialog returns the dialog in which a user confirms an action. Its error says why there is nothing to confirm.
func (t *target) dialog(ctx context.Context, user *session.User, order *Order, now time.Time) (d model.Dialog, err error) {
	object, err := t.read(ctx, user)
	if err != nil {
		return d, err
	}

	if allowed, err := user.Client.Can(ctx, t.verb, object); err != nil {
		return d, explained(user.Client, err, t.kind)
	} else if !allowed {
		return d, &web.Problem{Status: http.StatusForbidden, Title: "The cluster refuses this", Why: "You have no right to " + t.verb + " this object.", Do: "Ask an administrator for a Role that allows it."}
	}

	d = model.Dialog{
		Action: t.action.name, Title: t.title, Object: kube.Title(object), Path: t.page(), Post: "/a/" + t.action.name + strings.TrimPrefix(t.page(), "/o"), Danger: t.danger,
		Effect: t.effect(t.kind), Confirm: t.confirmation(), UID: object.GetUID(), Generation: object.GetGeneration(), Request: rand.Text(),
	}
	hint := kube.Hint(t.action.name, object)

	if order.Replicas = cmp.Or(order.Replicas, replicas(object)); t.action.name == "scale" && order.Replicas != nil {
		n := fmt.Sprint(*order.Replicas)
		hint += terminal.Commandf(" --replicas %s", n)
		d.Input = &model.Input{Name: "replicas", Label: "Number", Value: n, Type: "number"}
	}

	command := terminal.Commandf("kubectl delete %s %s -n %s", t.kind.FullName(), t.name, t.namespace)
	if t.change != nil {
		patch := []byte(nil)

		made, err := t.change(object, order, now)
		if err == nil {
			patch, err = made.JSON()
		}

		if err != nil {
			return d, explained(user.Client, err, t.kind)
		}

		command = terminal.Commandf("kubectl patch %s %s -n %s --type merge -p %s", t.kind.FullName(), t.name, t.namespace, string(patch))
	}

	d.Commands = []string{string(hint), string(user.Client.Carry(command))}
	return d, nil
}
