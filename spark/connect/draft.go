package connect

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// draft is the state of Build. Each step of Build adds to the state.
type draft struct {
	r Request
	// conf is the user's configuration without the keys that users cannot set.
	conf  *conf.Conf
	ports []port
	// named are the numbers of the template's ports by name. Only steps that build or check the Service set it.
	named map[string][]int32
	warns conf.Warnings
}

// newDraft returns a draft of r. It checks the fields that every object needs, and reads the ports.
func newDraft(r Request) (*draft, error) {
	d := &draft{r: r, conf: r.Conf.Clone()}
	// The Service has this name, and the rules for Service names are the strictest.
	if errs := validation.IsDNS1035Label(ServerName(r.Name)); len(errs) > 0 {
		return nil, submit.FieldErrorf("Name", "%q cannot be a server's name: its Service would have the invalid name %q: %s", r.Name, ServerName(r.Name), errs[0])
	}

	if errs := validation.IsDNS1123Label(r.Namespace); len(errs) > 0 {
		return nil, submit.FieldErrorf("Namespace", "%q is not a valid namespace name: %s", r.Namespace, errs[0])
	}

	if r.Master == "" {
		d.r.Master = submit.DefaultMaster
	} else if !strings.HasPrefix(r.Master, "k8s://") {
		return nil, submit.FieldErrorf("Master", "%q should begin with k8s://", r.Master)
	}

	for _, f := range []struct {
		name   string
		labels map[string]string
	}{{"Labels", r.Labels}, {"ObjectLabels", r.ObjectLabels}, {"Selector", r.Selector}} {
		for _, key := range slices.Sorted(maps.Keys(f.labels)) {
			if err := checkLabel(key, f.labels[key]); err != nil {
				return nil, submit.FieldErrorf(f.name, "%v", err)
			}
		}
	}
	var err error
	d.ports, err = portsOf(d.conf)
	return d, err
}

// dropForeign removes keys that are not Spark configuration, as spark-submit does. It returns an error for a key or
// value that is not UTF-8, because a Kubernetes object cannot hold such text.
func (d *draft) dropForeign() error {
	for _, key := range d.conf.Keys() {
		value, _ := d.conf.Get(key)
		switch {
		case !utf8.ValidString(key) || !utf8.ValidString(value):
			return submit.KeyErrorf(strings.ToValidUTF8(key, "?"), "is not UTF-8 text")
		case !strings.HasPrefix(key, "spark."):
			d.conf.Delete(key)
			d.warns.OfKey(key, "is left out: only keys that begin with spark. are Spark configuration")
		}
	}
	return nil
}

// checkLabel rejects labels that the API server would reject, and Spark's own labels.
func checkLabel(key, value string) error {
	switch key {
	case submit.VersionLabel, submit.SelectorLabel, submit.AppNameKey, submit.RoleLabel:
		return errors.New("is Spark's own label and cannot be set; remove it")
	}

	if errs := validation.IsQualifiedName(key); len(errs) > 0 {
		return fmt.Errorf("%q is not a valid label name: %s", conf.Shorten(key), errs[0])
	}

	if errs := validation.IsValidLabelValue(value); len(errs) > 0 {
		return fmt.Errorf("%s is not a valid label value: %s", conf.Quote(key, value), errs[0])
	}
	return nil
}
