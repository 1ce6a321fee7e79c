package settings

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/config"
)

func TestChangedNamespaces(t *testing.T) {
	for _, test := range []struct{ was, is, want []string }{
		{nil, nil, nil},
		{[]string{"a"}, []string{"a"}, nil},
		{[]string{"a", "b"}, []string{"b", "c"}, []string{"a", "c"}},
		{[]string{"a", "b"}, []string{"b", "a"}, nil},
		{nil, []string{"a"}, []string{metav1.NamespaceAll}},
		{[]string{"a"}, nil, []string{metav1.NamespaceAll}},
	} {
		if diff := cmp.Diff(test.want, changedNamespaces(config.Namespaces{Names: test.was}, config.Namespaces{Names: test.is})); diff != "" {
			t.Errorf("%v to %v (-want +got):\n%s", test.was, test.is, diff)
		}
	}
}

// forbidden is an API server that lets nobody list.
type forbidden struct{ client.Reader }

func (forbidden) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("configmaps is forbidden")
}

// TestSettingsThatCannotBeRead: without the right to list them the operator goes by what holds at the start, and says so once.
func TestSettingsThatCannotBeRead(t *testing.T) {
	var log strings.Builder
	cfg := config.Default()
	cfg.Namespaces.Names = []string{"team"}
	cfg.DynamicConfig.Source = config.SourceConfigMap
	live := New(cfg)
	d := &follower{live: live, config: cfg.DynamicConfig, namespace: "n", selector: labels.Everything(),
		log: funcr.New(func(_, args string) { log.WriteString(args + "\n") }, funcr.Options{})}
	for range 3 {
		d.look(t.Context(), forbidden{})
	}
	if is := live.Now().Namespaces.Names; !slices.Equal(is, []string{"team"}) {
		t.Errorf("served are %v", is)
	}
	if n := strings.Count(log.String(), "the dynamic settings cannot be read"); n != 1 {
		t.Errorf("told %d times:\n%s", n, &log)
	}
}

// TestSettingsWake: who asks is told of each namespace that is served from now on, or was until now.
func TestSettingsWake(t *testing.T) {
	cfg := config.Default()
	cfg.Namespaces.Names = []string{"a", "b"}
	live := New(cfg)
	var first, second []string
	live.OnNamespaces(func(name string) { first = append(first, name) })
	live.OnNamespaces(func(name string) { second = append(second, name) })
	next := cfg
	next.Namespaces.Names = []string{"b", "c"}
	live.Become(next)
	for _, woken := range [][]string{first, second} {
		if diff := cmp.Diff([]string{"a", "c"}, woken); diff != "" {
			t.Errorf("woken (-want +got):\n%s", diff)
		}
	}
	if !slices.Equal(live.Now().Namespaces.Names, next.Namespaces.Names) {
		t.Errorf("served are %v", live.Now().Namespaces.Names)
	}
}
