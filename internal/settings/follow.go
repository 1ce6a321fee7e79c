package settings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sparkoperator/spark-operator/internal/config"
	"github.com/sparkoperator/spark-operator/internal/config/peer"
)

// ownNamespace is where Kubernetes tells a pod's namespace.
const ownNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// podNamespace is the namespace of the pod that the operator runs in; an error where it runs in none.
func podNamespace() (string, error) {
	data, err := os.ReadFile(ownNamespace)
	return strings.TrimSpace(string(data)), err
}

// follower brings what the source of dynamic settings says into the settings, for as long as the operator runs, on a replica that stands by too: it
// serves the right namespaces when it takes over.
type follower struct {
	live      *Live
	config    config.DynamicConfig
	namespace string // of the ConfigMaps
	selector  labels.Selector
	reader    client.Reader // of the API server
	log       logr.Logger
	told      string // what was told last
	// open makes the cache of the ConfigMaps.
	open func() (cache.Cache, error)
}

var _ manager.LeaderElectionRunnable = &follower{}

// readTimeout bounds a read of the ConfigMaps, and watchAgain lies between two tries to watch them.
const readTimeout, watchAgain = time.Minute, time.Minute

// Follow has the manager follow the source of dynamic settings, where the configuration names one. It is read once before anything else: nothing is done first by
// what holds at the start and not now. One that cannot be read then is told and stops nothing, since it is looked at again. Errors name the field of the
// configuration.
func Follow(ctx context.Context, mgr manager.Manager, live *Live) error {
	cfg := live.initial.DynamicConfig
	if !cfg.Enabled {
		return nil
	}
	selector, err := labels.Parse(cfg.Selector)
	if err != nil {
		return fmt.Errorf("dynamicConfig.selector: %w", err)
	}
	d := &follower{
		live: live, config: cfg, selector: selector, reader: mgr.GetAPIReader(), log: mgr.GetLogger().WithName("dynamic-settings"),
		namespace: cmp.Or(cfg.Namespace, live.initial.LeaderElection.Namespace),
	}
	if cfg.Source == config.SourceConfigMap && d.namespace == "" {
		if d.namespace, err = podNamespace(); err != nil {
			return errors.New("dynamicConfig.namespace: the operator does not run in a pod, so the namespace of its ConfigMaps has to be said")
		}
	}
	d.open = func() (cache.Cache, error) {
		return cache.New(mgr.GetConfig(), cache.Options{
			Scheme: mgr.GetScheme(), HTTPClient: mgr.GetHTTPClient(), Mapper: mgr.GetRESTMapper(),
			ByObject: map[client.Object]cache.ByObject{
				&corev1.ConfigMap{}: {Namespaces: map[string]cache.Config{d.namespace: {LabelSelector: selector}}, Transform: cache.TransformStripManagedFields()},
			},
		})
	}
	d.look(ctx, d.reader)
	return mgr.Add(d)
}

// NeedLeaderElection says no.
func (*follower) NeedLeaderElection() bool { return false }

// Start follows the source until ctx ends. Nothing that goes wrong ends it, since its end with an error would be the operator's.
func (d *follower) Start(ctx context.Context) error {
	if d.config.Source == config.SourceFile {
		d.poll(ctx)
		return nil
	}
	for ctx.Err() == nil {
		if err := d.watch(ctx); err != nil && ctx.Err() == nil {
			d.log.Error(err, "the ConfigMaps of dynamic settings cannot be watched; what was read last goes on to hold", "namespace", d.namespace)
			select {
			case <-ctx.Done():
			case <-time.After(watchAgain):
			}
		}
	}
	return nil
}

// poll looks at the file again and again. A mounted ConfigMap is a link that is put in the place of another, which tells nobody.
func (d *follower) poll(ctx context.Context) {
	again := time.NewTicker(d.config.ReloadInterval.Duration)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
			d.look(ctx, d.reader)
		}
	}
}

// watch looks at the ConfigMaps whenever one of them changes, until ctx ends.
func (d *follower) watch(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	followed, err := d.open()
	if err != nil {
		stop()
		return err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := followed.Start(ctx); err != nil {
			d.log.Error(err, "the watch of dynamic settings has ended")
		}
	}()
	defer func() {
		stop()
		<-done
	}()
	informer, err := followed.GetInformer(ctx, &corev1.ConfigMap{})
	if err != nil {
		return err
	}
	changed := make(chan struct{}, 1) // one is enough, however many changes there are until it is looked at
	tell := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { tell() }, UpdateFunc: func(any, any) { tell() }, DeleteFunc: func(any) { tell() },
	}); err != nil {
		return err
	}
	// A cache that has not started answers every read with an error. If it is not full in time, the read below logs the reason.
	filling, cancel := context.WithTimeout(ctx, readTimeout)
	followed.WaitForCacheSync(filling)
	cancel()
	tell() // all ConfigMaps may have been deleted before the watch began
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			d.look(ctx, followed)
		}
	}
}

// look reads the source, and takes what it says.
func (d *follower) look(ctx context.Context, reader client.Reader) {
	values, err := d.read(ctx, reader)
	if err != nil {
		if ctx.Err() == nil {
			d.tellOnce(err.Error(), func() { d.log.Error(err, "the dynamic settings cannot be read; what was read last goes on to hold") })
		}
		return
	}
	d.take(values)
}

// read returns the properties of the source. A file that is not there has none: its ConfigMap may be optional.
func (d *follower) read(ctx context.Context, reader client.Reader) (map[string]string, error) {
	if d.config.Source == config.SourceFile {
		values, err := peer.LoadProperties(d.config.File)
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		return values, err
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var list corev1.ConfigMapList
	if err := reader.List(ctx, &list, client.InNamespace(d.namespace), client.MatchingLabelsSelector{Selector: d.selector}); err != nil {
		return nil, fmt.Errorf("list the ConfigMaps of dynamic settings in namespace %s: %w", d.namespace, err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.ConfigMap) int { return strings.Compare(a.Name, b.Name) })
	values := map[string]string{}
	for _, one := range list.Items {
		maps.Copy(values, one.Data)
	}
	return values, nil
}

// take lays the properties over the configuration of the start, and tells what is new about that. Where the list of namespaces cannot be used nothing is
// taken: half of what somebody wrote in one go is not what was meant.
func (d *follower) take(values map[string]string) {
	next, unused, err := peer.Override(&d.live.initial, values)
	if err != nil {
		d.tellOnce(err.Error(), func() {
			d.log.Error(err, "the dynamic settings are not taken; what was read last goes on to hold")
		})
		return
	}
	reasons := make([]string, 0, len(unused))
	for _, one := range unused {
		reasons = append(reasons, one.Name+": "+one.Why)
	}
	d.tellOnce(strings.Join(reasons, "\n"), func() {
		for _, one := range unused {
			d.log.Info("a dynamic property has no effect", "property", one.Name, "why", one.Why)
		}
	})
	was := d.live.Now()
	if was.String() == next.String() {
		return
	}
	d.live.Become(next)
	if !slices.Equal(was.Namespaces.Names, next.Namespaces.Names) {
		d.log.Info("the namespaces that are served have changed", "from", named(was.Namespaces), "to", named(next.Namespaces))
	}
	d.log.Info("the settings have changed", "missingDriverGracePeriod", next.Apache.MissingDriverGracePeriod.Duration.String(), "trimHistory", *next.Apache.TrimHistory,
		"sentinels", next.Apache.Sentinels.Enabled, "sentinelDelay", next.Apache.Sentinels.Delay.Duration.String())
}

// tellOnce tells what was not told last, so that a source that is looked at again and again does not fill the log.
func (d *follower) tellOnce(what string, tell func()) {
	if d.told == what {
		return
	}
	d.told = what
	tell()
}

// named shows which namespaces are served by name.
func named(namespaces config.Namespaces) string {
	switch {
	case len(namespaces.Names) > 0:
		return strings.Join(namespaces.Names, ",")
	case namespaces.Selector != "":
		return "those with the labels " + namespaces.Selector
	}
	return "*"
}
