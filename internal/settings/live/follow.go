package live

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
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/internal/settings/config/peer"
	"github.com/sparkoperator/spark-operator/internal/settings/policy"
)

// ownNamespace is the path of the file from which a pod reads its namespace.
const ownNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// podNamespace returns the namespace of the operator's pod. It fails if the operator does not run in a pod.
func podNamespace() (string, error) {
	data, err := os.ReadFile(ownNamespace)
	return strings.TrimSpace(string(data)), err
}

// follower applies the dynamic settings of a file or of ConfigMaps for as long as the operator runs. It runs on standby
// replicas too, so that they serve the right namespaces when they become the leader.
type follower struct {
	live      *Live
	config    config.DynamicConfig
	namespace string // the namespace of the ConfigMaps
	selector  labels.Selector
	reader    client.Reader // reads from the API server
	log       logr.Logger
	logged    string // the last message (logOnce)
	// open creates the cache of the ConfigMaps.
	open func() (cache.Cache, error)
}

var _ manager.LeaderElectionRunnable = &follower{}

// readTimeout bounds a read of the ConfigMaps, and watchAgain is the delay before a failed watch is retried.
const readTimeout, watchAgain = time.Minute, time.Minute

// Follow adds a follower of the dynamic settings to the manager if the configuration enables them. It reads the source
// once before it returns, so that no pass uses outdated settings. A failed read is logged and does not stop the start,
// because the follower reads again. A returned error names the invalid field of the configuration.
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
			return errors.New("dynamicConfig.namespace: the operator does not run in a pod, so the namespace of its ConfigMaps must be set")
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
	d.refresh(ctx, d.reader)
	return mgr.Add(d)
}

// NeedLeaderElection returns false, because standby replicas follow the settings too.
func (*follower) NeedLeaderElection() bool { return false }

// Start follows the source until ctx ends. It never returns an error, because the manager would stop the operator. It
// reads a file periodically instead of watching it, because the kubelet updates a mounted ConfigMap by replacing a
// symbolic link, which a watch of the file would not report.
func (d *follower) Start(ctx context.Context) error {
	if d.config.Source == config.SourceFile {
		_ = wait.PollUntilContextCancel(ctx, d.config.ReloadInterval.Duration, false, func(ctx context.Context) (bool, error) {
			d.refresh(ctx, d.reader)
			return false, nil
		})
		return nil
	}

	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := d.watch(ctx); err != nil && ctx.Err() == nil {
			d.log.Error(err, "Could not watch the ConfigMaps of dynamic settings; keeping the last settings", "namespace", d.namespace)
		}
	}, watchAgain)
	return nil
}

// watch reads the ConfigMaps whenever one of them changes, until ctx ends.
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
			d.log.Error(err, "The watch of the ConfigMaps of dynamic settings stopped; keeping the last settings")
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

	changed := make(chan struct{}, 1) // one entry stands for all changes until the next read

	notify := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { notify() }, UpdateFunc: func(any, any) { notify() }, DeleteFunc: func(any) { notify() },
	}); err != nil {
		return err
	}
	// A cache that has not started answers every read with an error. If the cache is not full in time, the read below
	// logs the reason.
	filling, cancel := context.WithTimeout(ctx, readTimeout)
	followed.WaitForCacheSync(filling)
	cancel()
	notify() // all ConfigMaps may have been deleted before the watch began

	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			d.refresh(ctx, followed)
		}
	}
}

// refresh reads the source and applies the properties in it.
func (d *follower) refresh(ctx context.Context, reader client.Reader) {
	values, err := d.read(ctx, reader)
	if err != nil {
		if ctx.Err() == nil {
			d.logOnce(err.Error(), func() { d.log.Error(err, "Could not read the dynamic settings; keeping the last settings") })
		}
		return
	}

	d.apply(values)
}

// read returns the properties of the source. If the file does not exist, it returns no properties and no error, because
// the file's ConfigMap may be optional.
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
	for _, configMap := range list.Items {
		maps.Copy(values, configMap.Data)
	}
	return values, nil
}

// policyKey is the name of the dynamic setting that replaces the section policy of the configuration. Its value is the
// section as YAML.
const policyKey = "policy"

// override returns the configuration with which the operator started, after the properties have replaced some of its
// fields. It also returns the properties that have no effect.
func (d *follower) override(values map[string]string) (config.Configuration, []peer.Unused, error) {
	text, ruled := values[policyKey]
	values = maps.Clone(values)
	delete(values, policyKey)

	next, unused, err := peer.Override(&d.live.initial, values)
	if err != nil || !ruled || strings.TrimSpace(text) == "" {
		return next, unused, err
	}

	if next.Policy, err = policy.Parse(text); err != nil {
		return next, nil, err
	}

	if next.Policy.NeedsNamespaceLabels() && !d.live.initial.WatchesNamespaces() {
		return next, nil, errors.New("policy: a selector needs the labels of namespaces, which the operator watches only if its configuration file has a selector " +
			"in policy or in namespaces; add a selector to the file and restart the operator")
	}
	return next, unused, nil
}

// apply merges the properties over the configuration with which the operator started, and logs the changes. If the list
// of namespaces or the policy is invalid, it applies no property at all, because properties that were written together
// are applied together.
func (d *follower) apply(values map[string]string) {
	next, unused, err := d.override(values)
	if err != nil {
		d.logOnce(err.Error(), func() {
			d.log.Error(err, "Rejected the dynamic settings; keeping the last settings")
		})
		return
	}

	next.Policy.ServerVersion = d.live.initial.Policy.ServerVersion // no setting, so no source has it

	reasons := make([]string, 0, len(unused))
	for _, property := range unused {
		reasons = append(reasons, property.Name+": "+property.Why)
	}

	d.logOnce(strings.Join(reasons, "\n"), func() {
		for _, property := range unused {
			d.log.Info("Dynamic property has no effect, or not the whole effect", "property", property.Name, "why", property.Why)
		}
	})

	previous := d.live.Now()
	if previous.String() == next.String() {
		return
	}

	d.live.Update(next)

	if !slices.Equal(previous.Namespaces.Names, next.Namespaces.Names) {
		d.log.Info("Served namespaces changed", "from", named(previous.Namespaces), "to", named(next.Namespaces))
	}

	if !previous.Policy.Equal(next.Policy) {
		d.log.Info("Rules of the platform changed", "sets", len(next.Policy.Rules))
	}

	d.log.Info("Dynamic settings changed", "missingDriverGracePeriod", next.Apache.MissingDriverGracePeriod.Duration.String(), "trimHistory", *next.Apache.TrimHistory,
		"events", *next.Apache.Events.Enabled, "eventInterval", next.Apache.Events.MinInterval.Duration.String(), "excludedReasons", next.Apache.Events.ExcludedReasons,
		"sentinels", next.Apache.Sentinels.Enabled, "sentinelDelay", next.Apache.Sentinels.Delay.Duration.String())
}

// logOnce calls the function `log` unless the last message was the same, so that a source that is read repeatedly does
// not fill the log.
func (d *follower) logOnce(message string, log func()) {
	if d.logged == message {
		return
	}

	d.logged = message

	log()
}

// named returns the served namespaces as text for the log.
func named(namespaces config.Namespaces) string {
	switch {
	case len(namespaces.Names) > 0:
		return strings.Join(namespaces.Names, ",")
	case namespaces.Selector != "":
		return "those with the labels " + namespaces.Selector
	}
	return "*"
}
