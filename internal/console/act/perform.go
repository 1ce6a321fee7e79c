package act

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/change"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/internal/console/session"
	"github.com/sparkoperator/spark-operator/internal/console/view"
	"github.com/sparkoperator/spark-operator/internal/console/web"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

// Order is what an action needs beside its object.
type Order struct {
	// UID is that of the object as the user has seen it. The action is refused if another object has the name; empty:
	// every object.
	UID types.UID `json:"uid,omitempty"`
	// Generation is that of the object as the user has seen it. The action is refused if the spec has changed; 0: every
	// spec.
	Generation int64 `json:"generation,omitempty"`
	// Replicas is the number of workers or executors; only for scale.
	Replicas *int32 `json:"replicas,omitempty"`
}

// Done is what was done with an object.
type Done struct {
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`
	// Text says in one sentence what was done.
	Text string `json:"text"`
	// Request identifies a restart or a run; empty for other actions.
	Request string `json:"request,omitempty"`
}

// doneWith returns what was done with an object.
func doneWith(object client.Object, what, request string) Done {
	return Done{
		Kind: kinds.Of(object).FullName(), Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(), Text: kube.Title(object) + " " + what, Request: request,
	}
}

// maxConflicts is how often an action is repeated because the operator has written the status meanwhile.
const maxConflicts = 5

// perform does an action with the rights of the user. Every write has the version of the object that was checked as its
// condition, so nothing can change between the check and the write.
func (t *target) perform(ctx context.Context, user *session.User, order *Order, now time.Time) (Done, error) {
	if scales := t.action.name == "scale"; scales != (order.Replicas != nil) || scales && *order.Replicas < 0 {
		return Done{}, impossible("The action scale, and no other, needs a number that is not negative.")
	}

	for range maxConflicts {
		object, err := t.read(ctx, user)
		if err != nil {
			return Done{}, err
		}

		if err := order.check(object); err != nil {
			return Done{}, err
		}

		request, err := t.write(ctx, user.Client, object, order, now)
		if err == nil {
			return doneWith(object, t.done, request), nil
		}

		if !apierrors.IsConflict(err) {
			return Done{}, explained(user.Client, err, t.kind)
		}
	}
	return Done{}, &web.Problem{Status: http.StatusConflict, Title: "The object changes all the time", Why: "Others write the object faster than the console can.", Do: "Repeat the action."}
}

// write makes the change of the action, and returns its request.
func (t *target) write(ctx context.Context, c *kube.Client, object client.Object, order *Order, now time.Time) (string, error) {
	if t.change == nil {
		return "", change.Delete(ctx, c, object, true)
	}

	made, err := t.change(object, order, now)
	if err != nil {
		return "", err
	}

	err = made.Unchanged(object).Apply(ctx, c, object)
	object.GetObjectKind().SetGroupVersionKind(t.kind.GroupVersionKind)
	return made.Request, err
}

// check returns the problem of an order for an object that is no longer that which the user has seen.
func (o *Order) check(object client.Object) error {
	p := &web.Problem{Status: http.StatusConflict, Title: "The object is another", Do: "Look at the object before you repeat the action."}
	switch {
	case o.UID != "" && o.UID != object.GetUID():
		p.Why = fmt.Sprintf("%s was deleted meanwhile, and a new one with the same name was created. Nothing was done.", kube.Title(object))
	case o.Generation != 0 && o.Generation != object.GetGeneration():
		p.Title = "The object has changed"
		p.Why = fmt.Sprintf("Somebody has edited the spec of %s meanwhile (generation %d, now %d). Nothing was done.", kube.Title(object), o.Generation, object.GetGeneration())
	default:
		return nil
	}
	return p
}

func impossible(why string) error {
	return &web.Problem{Status: http.StatusUnprocessableEntity, Title: "This is not possible", Why: why}
}

// orderOf returns the order of a form. Numbers that cannot be read are left out, and missed later.
func orderOf(r *web.Request) *Order {
	o := &Order{UID: types.UID(r.FormValue("uid"))}
	o.Generation, _ = strconv.ParseInt(r.FormValue("generation"), 10, 64)

	if n, err := strconv.ParseInt(r.FormValue("replicas"), 10, 32); err == nil {
		o.Replicas = new(int32(n))
	}
	return o
}

// showDialog answers with the dialog of an action. A number in the form of an open dialog is kept.
func (s *service) showDialog(w http.ResponseWriter, r *web.Request) error {
	t, err := targetOf(r)
	if err != nil {
		return err
	}

	d, err := t.dialog(r.Context(), r.Session.User, orderOf(r), r.Now)
	if err != nil {
		return s.refuse(w, r, t, err)
	}
	return s.Write(w, r, http.StatusOK, view.Dialog(s.Frame(r, ""), d))
}

// refuse answers with a dialog that only says why an action is not possible. The end of a session is left to the site.
func (s *service) refuse(w http.ResponseWriter, r *web.Request, t *target, err error) error {
	p, ok := errors.AsType[*web.Problem](err)
	if !ok {
		return err
	}

	// The request may be about the commands in an open dialog, which the refusal replaces as a whole.
	w.Header().Set("Hx-Retarget", "#dialog")
	w.Header().Set("Hx-Reselect", "unset")
	w.Header().Set("Hx-Reswap", "innerHTML")
	return s.Write(w, r, p.Status, view.Refusal(model.Dialog{Title: t.title, Object: t.namespace + "/" + t.name, Path: t.page(), Problem: p.Error(), Effect: p.Do}))
}

// postDialog does the action of a dialog.
func (s *service) postDialog(w http.ResponseWriter, r *web.Request) error {
	t, err := targetOf(r)
	if err != nil {
		return err
	}

	order, done := orderOf(r), Done{}
	switch {
	case order.UID == "" || order.Generation == 0:
		err = impossible("The form has no uid or no generation; open the dialog again.")
	case r.PostFormValue("confirm") != t.confirmation():
		err = impossible("Type the name of the object to confirm. Nothing was done.")
	default:
		done, err = s.perform(r, t, order, r.PostFormValue("request"))
	}

	page := t.page()
	switch {
	case err != nil:
		return s.refuse(w, r, t, err)
	case t.change == nil:
		page = "/"
	}

	redirect(w, r, page, done.Text)
	return nil
}

// postAction is the action of /api/v1.
func (s *service) postAction(r *web.Request, order Order) (Done, error) {
	t, err := targetOf(r)
	if err != nil {
		return Done{}, err
	}
	return s.perform(r, t, &order, r.Header.Get(idempotencyKey))
}

func (s *service) perform(r *web.Request, t *target, order *Order, key string) (Done, error) {
	return do(&s.done, r, key, order, func(ctx context.Context) (Done, error) { return t.perform(ctx, r.Session.User, order, r.Now) })
}
