package controller

import (
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/config"
)

// cacheOptions say what is watched: our pods, the metadata of our other children, the custom resources; and of each only the
// fields that somebody reads. What else lives in a namespace, and how much of it, does not matter.
func cacheOptions(cfg config.Configuration) cache.Options {
	options := cache.Options{
		// A read of something that is not watched is a fault in the program, not a reason to watch it as well.
		ReaderFailOnMissingInformer: true,
		DefaultTransform:            trimResource,
		ByObject:                    map[client.Object]cache.ByObject{&corev1.Pod{}: {Label: sparkPods(cfg.SparkClusters()), Transform: trimPod}},
	}
	for _, kind := range childKinds {
		options.ByObject[metadataOnly(kind)] = cache.ByObject{Label: ourChildren(), Transform: trimChild}
	}
	if cfg.Namespaces.Selector != "" {
		options.ByObject[metadataOnly(namespaceKind)] = cache.ByObject{Transform: trimMetadata}
	}
	if cfg.WatchesAll() {
		return options // what is outside may come in at any time
	}
	for _, name := range cfg.Namespaces.Names {
		if options.DefaultNamespaces == nil {
			options.DefaultNamespaces = map[string]cache.Config{}
		}
		options.DefaultNamespaces[name] = cache.Config{}
	}
	return options
}

// newCache makes the operator's cache.
func newCache(rc *rest.Config, options cache.Options) (_ cache.Cache, err error) {
	if options.HTTPClient, err = rest.HTTPClientFor(watchesApart(rc)); err != nil {
		return nil, err
	}
	return cache.New(rc, options)
}

// watchesApart is how the caches speak with the API server: in HTTP/1.1, with a connection for each watch. On one of HTTP/2 that all share, each event wakes one more
// goroutine, and every few kilobytes are acknowledged by a write: up to a fifth of what an event costs. A peer that is gone without a word is found out as soon as by
// the pings of HTTP/2.
func watchesApart(base *rest.Config) *rest.Config {
	config := rest.CopyConfig(base)
	config.NextProtos = []string{"http/1.1"}
	if config.Dial == nil {
		alive := net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 5 * time.Second, Count: 3}
		config.Dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAliveConfig: alive}).DialContext
	}
	return config
}
